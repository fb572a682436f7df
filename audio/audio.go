// Package audio reads and writes audio samples and converts their sampling rate.
//
// The readers deliver float32 samples: Open those of files and streams in WAV, FLAC, MP3 and Ogg
// Vorbis, Options.Open also those of formats that ffmpeg decodes, OpenWAV those of WAV alone,
// NewRawReader raw samples without a header, and NewResampleReader those of another reader at a new
// sampling rate. They do not seek, so that a pipe serves as well as a file. Integer formats give
// samples in [−1, 1): a 16-bit value is divided by 32768. A frame is one sample of every channel;
// channels are interleaved.
//
// The sizes in a header are not trusted: memory is allocated only for bytes that follow. A file
// that ends early is an error after the samples before the end. Malformed bytes cause an error,
// never a panic, and take a bounded amount of memory.
package audio

// Package audio reads and writes audio samples and converts their sampling rate.
//
// Sources deliver float32 samples from an io.Reader: files and streams in WAV, FLAC, MP3 and Ogg
// Vorbis (Open), WAV alone (NewWAVReader), headerless samples (RawReader), and another source at a
// new sampling rate (ResampleReader). Nothing is sought, so that a pipe serves as well as a file.
// Integer formats give samples in [−1, 1): a 16-bit value is divided by 32768. The channels of a
// frame are side by side.
//
// A header's size fields are trusted only as far as the bytes that follow confirm them. A file that
// ends early is an error for ReadFile and Reader; a WAVReader delivers what there is and reports
// Truncated. Malformed bytes in any format give errors, never a panic, in a bounded amount of
// memory.
package audio

package pth

import (
	"archive/zip"
	"bytes"
	"fmt"
	"hash/crc32"
	"path"
	"strings"
)

// archive holds the pickle and the storages by key, all views of the file's bytes.
type archive struct {
	pickle   []byte
	storages map[string][]byte
}

// openArchive returns NAME/data.pkl and NAME/data/KEY. PyTorch stores its entries uncompressed.
func openArchive(b []byte) (*archive, error) {
	z, err := openZip(b)
	if err != nil {
		return nil, err
	}
	contents := map[string][]byte{}
	left := uint64(len(b))
	dir := ""
	for _, f := range z.File {
		if contents[f.Name] != nil {
			return nil, fmt.Errorf("zip entry %.64q is duplicated", f.Name)
		}
		if f.UncompressedSize64 > left {
			return nil, fmt.Errorf("zip entry %.64q: the entries together are larger than the file", f.Name)
		}
		left -= f.UncompressedSize64
		if contents[f.Name], err = content(b, f); err != nil {
			return nil, fmt.Errorf("zip entry %.64q: %w", f.Name, err)
		}
		if path.Base(f.Name) == "data.pkl" {
			dir = strings.TrimSuffix(f.Name, "data.pkl")
		}
	}
	a := &archive{pickle: contents[dir+"data.pkl"], storages: map[string][]byte{}}
	if a.pickle == nil {
		return nil, fmt.Errorf("not a PyTorch checkpoint: the zip file has no data.pkl")
	}
	if order := contents[dir+"byteorder"]; order != nil && string(order) != "little" {
		return nil, fmt.Errorf("byte order %.16q, expected \"little\"", order)
	}
	for name, data := range contents {
		if key, ok := strings.CutPrefix(name, dir+"data/"); ok {
			a.storages[key] = data
		}
	}
	return a, nil
}

// openZip reads the zip file's directory. It returns an error for files of other formats.
func openZip(b []byte) (*zip.Reader, error) {
	switch {
	case bytes.HasPrefix(b, []byte{0x80}):
		return nil, fmt.Errorf("the format before PyTorch 1.6: load the checkpoint in a newer PyTorch and save it again")
	case !bytes.HasPrefix(b, []byte("PK\x03\x04")):
		return nil, fmt.Errorf("not a PyTorch checkpoint: not a zip file")
	}
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, fmt.Errorf("the zip file is damaged or truncated: %w", err)
	}
	return z, nil
}

// content returns an entry's bytes, never nil, after checking its position and checksum.
func content(b []byte, f *zip.File) ([]byte, error) {
	if f.Method != zip.Store || f.UncompressedSize64 != f.CompressedSize64 {
		return nil, fmt.Errorf("compressed, expected a stored entry")
	}
	at, err := f.DataOffset()
	if err != nil {
		return nil, err
	}
	if at < 0 || at > int64(len(b)) || f.UncompressedSize64 > uint64(len(b))-uint64(at) {
		return nil, fmt.Errorf("%d bytes at %d exceed the file of %d", f.UncompressedSize64, at, len(b))
	}
	data := b[at:][:f.UncompressedSize64]
	if crc32.ChecksumIEEE(data) != f.CRC32 {
		return nil, fmt.Errorf("damaged: the checksum does not match")
	}
	return data, nil
}

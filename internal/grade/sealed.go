package grade

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
)

// formatVersion is the version of grade files and of samples. docs/formats/grades.md draws them.
const formatVersion = 1

// seal returns a line of JSON with a document and its checksum.
func seal(document []byte) []byte {
	return fmt.Appendf(nil, "{\"format\":%d,\"crc32c\":\"%08x\",\"document\":%s}\n", formatVersion, checksum(document), document)
}

// unseal returns the document of a line that seal wrote.
func unseal(line []byte) ([]byte, error) {
	var sealed struct {
		Format   int             `json:"format"`
		CRC32C   string          `json:"crc32c"`
		Document json.RawMessage `json:"document"`
	}
	if err := json.Unmarshal(line, &sealed); err != nil {
		return nil, err
	}
	if sealed.Format != formatVersion {
		return nil, fmt.Errorf("has format %d; this program reads format %d", sealed.Format, formatVersion)
	}
	if sum := fmt.Sprintf("%08x", checksum(sealed.Document)); sum != sealed.CRC32C {
		return nil, fmt.Errorf("is damaged: its checksum is %s, not %q", sum, sealed.CRC32C)
	}
	return bytes.Clone(sealed.Document), nil
}

func checksum(data []byte) uint32 { return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)) }

// asideSuffix is that of a file being written; one left after a crash is written over.
const asideSuffix = ".tmp"

// writeFile makes a file of these bytes, and its directories, in one step that survives a loss of power.
func writeFile(path string, data []byte) error {
	dir := filepath.Dir(path)
	if err := makeDirectory(dir); err != nil {
		return err
	}
	f, err := os.OpenFile(path+asideSuffix, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(path+asideSuffix, path); err != nil {
		return err
	}
	return syncDirectory(dir)
}

// makeDirectory makes a directory and those above it, each of them for good.
func makeDirectory(dir string) error {
	err := os.Mkdir(dir, 0o700)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil
	case errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir:
		if err := makeDirectory(filepath.Dir(dir)); err != nil {
			return err
		}
		return makeDirectory(dir)
	case err != nil:
		return err
	}
	return syncDirectory(filepath.Dir(dir))
}

func syncDirectory(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

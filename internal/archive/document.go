package archive

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/zeebo/xxh3"
)

// document is a small JSON file: a version, a checksum and the content.
type document struct {
	Version  int             `json:"version"`
	Checksum string          `json:"checksum"` // xxh3-128 of the version's digits and the content without white space
	Content  json.RawMessage `json:"content"`
}

// formatVersion is of the state and the manifests.
const formatVersion = 1

// maxDocument bounds what is read of a document. The largest is the manifest of a busy hour.
const maxDocument = 64 << 20

// CorruptError says that a file of the archive is damaged or missing.
type CorruptError struct {
	Path   string
	Reason string
}

// Error names the file and what is wrong with it.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("archive file %s is damaged: %s", e.Path, e.Reason)
}

// readDocument fills content. A damaged document is a *CorruptError.
func readDocument(path string, content any) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Size() > maxDocument {
		return &CorruptError{path, fmt.Sprintf("it has %d bytes", info.Size())}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var d document
	if err := json.Unmarshal(b, &d); err != nil {
		return &CorruptError{path, err.Error()}
	}
	if sum, err := documentChecksum(d.Version, d.Content); err != nil || sum != d.Checksum {
		return &CorruptError{path, "its checksum is wrong"}
	}
	if d.Version != formatVersion {
		return fmt.Errorf("%s is of version %d; this program knows version %d", path, d.Version, formatVersion)
	}
	if err := json.Unmarshal(d.Content, content); err != nil {
		return &CorruptError{path, err.Error()}
	}
	return nil
}

func documentChecksum(version int, content []byte) (string, error) {
	b := bytes.NewBufferString(strconv.Itoa(version))
	if err := json.Compact(b, content); err != nil {
		return "", err
	}
	return checksumText(xxh3.Hash128(b.Bytes())), nil
}

// checksumText returns a checksum as manifests have it, 32 hex digits.
func checksumText(sum xxh3.Uint128) string {
	b := sum.Bytes()
	return fmt.Sprintf("%x", b[:])
}

// writeDocument replaces a document as a whole, durably.
func writeDocument(st storage, path string, content any) error {
	if err := prepareDocument(st, path, content); err != nil {
		return err
	}
	if err := st.Rename(path+asideSuffix, path); err != nil {
		return err
	}
	return st.SyncDir(filepath.Dir(path))
}

// prepareDocument writes a document aside, durably; it takes its place when it gets its name.
func prepareDocument(st storage, path string, content any) error {
	c, err := json.Marshal(content)
	if err != nil {
		return err
	}
	sum, err := documentChecksum(formatVersion, c)
	if err != nil {
		return err
	}
	b, err := json.MarshalIndent(document{formatVersion, sum, c}, "", " ")
	if err != nil {
		return err
	}
	f, err := st.Create(path + asideSuffix)
	if err != nil {
		return err
	}
	if _, err := f.Write(append(b, '\n')); err != nil {
		_ = f.Close()
		return err
	}
	if err := f.Sync(); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

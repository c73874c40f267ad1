package archive

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/zeebo/xxh3"

	"crest/internal/durable"
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

// readDocument fills content from a document or, when that is damaged or missing, from its copy. When neither can be read
// the error is a *CorruptError, or fs.ErrNotExist when there is neither.
func readDocument(path string, content any) error {
	err := readOne(path, content)
	_, damaged := errors.AsType[*CorruptError](err)
	missing := errors.Is(err, fs.ErrNotExist)
	if !damaged && !missing {
		return err
	}
	fromCopy := readOne(copyOf(path), content)
	_, copyDamaged := errors.AsType[*CorruptError](fromCopy)
	switch {
	case fromCopy == nil || !copyDamaged && !errors.Is(fromCopy, fs.ErrNotExist):
		return fromCopy
	case missing && copyDamaged:
		return &CorruptError{path, "it is missing, and its copy is damaged"}
	}
	return err
}

// copyOf returns the path of a document's copy, "manifest.copy.json" for "manifest.json".
func copyOf(path string) string { return strings.TrimSuffix(path, ".json") + ".copy.json" }

func readOne(path string, content any) error {
	b, err := readDocumentBytes(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, content); err != nil {
		return &CorruptError{path, err.Error()}
	}
	return nil
}

// readDocumentBytes returns the content of a document whose checksum is right.
func readDocumentBytes(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxDocument {
		return nil, &CorruptError{path, fmt.Sprintf("it has %d bytes", info.Size())}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var d document
	if err := json.Unmarshal(b, &d); err != nil {
		return nil, &CorruptError{path, err.Error()}
	}
	if sum, err := documentChecksum(d.Version, d.Content); err != nil || sum != d.Checksum {
		return nil, &CorruptError{path, "its checksum is wrong"}
	}
	if d.Version != formatVersion {
		return nil, fmt.Errorf("%s is of version %d; this program knows version %d", path, d.Version, formatVersion)
	}
	return d.Content, nil
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

// writeDocument replaces a document and its copy, each as a whole, durably. The copy is never older than the document, so
// that a reader who needs it finds in it all that the state promises.
func writeDocument(st durable.Files, path string, content any) error {
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
	b = append(b, '\n')
	if err := durable.Replace(st, copyOf(path), b); err != nil {
		return err
	}
	if err := durable.Replace(st, path, b); err != nil {
		return err
	}
	return st.SyncDir(filepath.Dir(path))
}

// mendDocument makes a document and its copy the same again, after a crash or damage. The document counts, the copy when that
// can't be read. It returns what was wrong with the document, "" when it was right, there is neither, or both are damaged.
func mendDocument(st durable.Files, path string) (wrong string, err error) {
	_, err = readDocumentBytes(path)
	corrupt, damaged := errors.AsType[*CorruptError](err)
	good, bad := path, copyOf(path)
	switch {
	case damaged || errors.Is(err, fs.ErrNotExist):
		if _, err := readDocumentBytes(copyOf(path)); err != nil {
			return "", nil //nolint:nilerr // whoever reads the document is told
		}
		good, bad = bad, good
		wrong = "it is missing"
		if damaged {
			wrong = corrupt.Reason
		}
	case err != nil:
		return "", err
	}
	b, err := os.ReadFile(good)
	if err != nil {
		return "", err
	}
	if other, err := os.ReadFile(bad); err == nil && bytes.Equal(b, other) {
		return "", nil
	}
	if err := durable.Replace(st, bad, b); err != nil {
		return "", err
	}
	return wrong, st.SyncDir(filepath.Dir(path))
}

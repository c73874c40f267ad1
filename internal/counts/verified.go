package counts

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// verified is a file of which every block is known by its checksum: what is read is what was there when it was opened, or an
// error. It may be used concurrently.
type verified struct {
	file   *os.File
	path   string
	size   int64
	blocks []uint32 // checksum of each block
	spare  sync.Pool
}

// openVerified reads a file once and compares it with want, unless want is nil. It says what the file is.
func openVerified(path string, want *Info) (*verified, Info, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, Info{}, fmt.Errorf("open counts: %w", err)
	}
	v := &verified{file: f, path: path}
	info, err := v.know(want)
	if err != nil {
		return nil, Info{}, errors.Join(err, f.Close())
	}
	return v, info, nil
}

func (v *verified) know(want *Info) (Info, error) {
	st, err := v.file.Stat()
	if err != nil {
		return Info{}, fmt.Errorf("open counts: %w", err)
	}
	v.size = st.Size()
	if want != nil && want.Bytes != v.size {
		return Info{}, v.corrupt(fmt.Sprintf("it has %d bytes, %d were written", v.size, want.Bytes), nil)
	}
	v.blocks = make([]uint32, 0, (v.size+blockBytes-1)/blockBytes)
	sum := newHasher()
	buf := make([]byte, 64*blockBytes)
	for off := int64(0); off < v.size; {
		piece := buf[:min(int64(len(buf)), v.size-off)]
		if _, err := v.file.ReadAt(piece, off); err != nil {
			return Info{}, v.readError(err)
		}
		sum.write(piece)
		for b := piece; len(b) > 0; b = b[min(len(b), blockBytes):] {
			v.blocks = append(v.blocks, blockSum(b[:min(len(b), blockBytes)]))
		}
		off += int64(len(piece))
	}
	info := Info{Bytes: v.size, Checksum: sum.sum()}
	if want != nil && want.Checksum != info.Checksum {
		return Info{}, v.corrupt("its checksum is "+info.Checksum+", "+want.Checksum+" was written", nil)
	}
	return info, nil
}

// ReadAt implements io.ReaderAt. It reads the whole blocks around what is asked for and compares their checksums.
func (v *verified) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off >= v.size {
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), v.size-off))
	begin := off / blockBytes * blockBytes
	end := min((off+int64(n)+blockBytes-1)/blockBytes*blockBytes, v.size)
	spare, _ := v.spare.Get().(*[]byte)
	if spare == nil {
		spare = new([]byte)
	}
	defer v.spare.Put(spare)
	if int64(cap(*spare)) < end-begin {
		*spare = make([]byte, end-begin)
	}
	buf := (*spare)[:end-begin]
	if _, err := v.file.ReadAt(buf, begin); err != nil {
		return 0, v.readError(err)
	}
	for i, b := begin/blockBytes, buf; len(b) > 0; i++ {
		block := b[:min(len(b), blockBytes)]
		if blockSum(block) != v.blocks[i] {
			return 0, v.corrupt(fmt.Sprintf("bytes %d to %d have changed since it was opened", i*blockBytes, i*blockBytes+int64(len(block))), nil)
		}
		b = b[len(block):]
	}
	copy(p, buf[off-begin:][:n])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (v *verified) corrupt(reason string, cause error) error {
	return &CorruptError{Path: v.path, Reason: reason, Cause: cause}
}

// readError wraps an error of the operating system. A file that ends too early has been cut.
func (v *verified) readError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return v.corrupt("it has become shorter", nil)
	}
	return fmt.Errorf("read counts %s: %w", v.path, err)
}

// wrap makes an error of decoding a CorruptError, and leaves those alone that already say what is wrong with the file.
func (v *verified) wrap(reason string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*CorruptError](err); ok || isVersion(err) {
		return err
	}
	if _, ok := errors.AsType[*os.PathError](err); ok {
		return err
	}
	return v.corrupt(reason, err)
}

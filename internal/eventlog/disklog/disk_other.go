//go:build !linux

package disklog

import "os"

func syncData(f *os.File) error { return f.Sync() }

func reserve(*os.File, int64, int64) {}

package main

import (
	"context"
	"io"
	"os"
)

// input is what is imported.
type input struct {
	io.ReadCloser
	info os.FileInfo // of the file that it is; nil where it is none
}

// openInput opens a file, or takes the standard input for "-".
func openInput(name string, stdin io.Reader) (input, error) {
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return input{}, err
		}
		return fileInput(file, file)
	}
	closer := io.NopCloser(stdin)
	if file, ok := stdin.(*os.File); ok {
		return fileInput(closer, file)
	}
	return input{ReadCloser: closer}, nil
}

func fileInput(in io.ReadCloser, file *os.File) (input, error) {
	info, err := file.Stat()
	if err != nil {
		in.Close()
		return input{}, err
	}
	return input{in, info}, nil
}

// size is how many bytes it has; 0 if nobody knows.
func (in input) size() int64 {
	if in.info == nil || !in.info.Mode().IsRegular() {
		return 0
	}
	return in.info.Size()
}

// interruptible ends reads with ctx: a terminal or a pipe may have nothing to
// read for as long as it is open. A read under way is left behind, with a buffer
// that nothing else uses.
type interruptible struct {
	ctx    context.Context
	in     io.Reader
	buffer [64 << 10]byte
}

func (r *interruptible) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	type outcome struct {
		n   int
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		n, err := r.in.Read(r.buffer[:min(len(p), len(r.buffer))])
		done <- outcome{n, err}
	}()
	select {
	case o := <-done:
		return copy(p, r.buffer[:o.n]), o.err
	case <-r.ctx.Done():
		return 0, r.ctx.Err()
	}
}

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mattn/go-isatty"
)

// isTerminal tells whether a person may sit behind a stream, who can be asked.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && isatty.IsTerminal(file.Fd())
}

// confirm asks a question, and fails on every answer but y and yes, and when ctx
// ends before there is one.
func confirm(ctx context.Context, in io.Reader, out io.Writer, question string) error {
	fmt.Fprint(out, question, " [y/N] ")
	line, err := bufio.NewReader(&interruptible{ctx: ctx, in: in}).ReadString('\n')
	switch answer := strings.ToLower(strings.TrimSpace(line)); {
	case ctx.Err() != nil:
		fmt.Fprintln(out)
		return errors.New("interrupted")
	case err != nil && !errors.Is(err, io.EOF):
		return err
	case answer != "y" && answer != "yes":
		return errors.New("it was not confirmed")
	}
	return nil
}

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
	"github.com/spf13/cobra"
)

// isTerminal tells whether a person may sit behind a stream, who can be asked.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && isatty.IsTerminal(file.Fd())
}

// goAhead asks the question on a terminal, and elsewhere demands --yes, of which
// the hint tells.
func goAhead(command *cobra.Command, yes bool, question, hint string) error {
	switch in := command.InOrStdin(); {
	case yes:
		return nil
	case !isTerminal(in):
		return errors.New("there is no terminal to ask on. " + hint)
	default:
		return confirm(command.Context(), in, command.ErrOrStderr(), question)
	}
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

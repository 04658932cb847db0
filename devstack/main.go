// Devstack runs a command beside a real PostgreSQL server and a real S3
// server, on loopback and free ports, and ends both when the command ends.
//
//	devstack run [flags] -- command [argument…]
//
// The command finds the stack's settings in its environment (see settings.go)
// and runs in the caller's folder. Its exit code becomes devstack's; 125 says
// that the stack itself failed, 126 and 127 that the command couldn't be
// started, and 128 and more that a signal ended it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"os"

	"github.com/holdfast-dev/holdfast/devstack/internal/process"
)

// stackFailed is the exit code when the stack failed, not the command.
const stackFailed = 125

const usage = `usage: devstack run [flags] -- command [argument…]

Runs the command beside a real PostgreSQL and a real S3 server.

`

func main() {
	log.SetFlags(0)
	log.SetPrefix("devstack: ")
	os.Exit(dispatch(os.Args[1:]))
}

func dispatch(args []string) int {
	if len(args) == 1 && args[0] == process.GuardArgument {
		if err := process.Guard(os.Stdin); err != nil {
			return stackFailed
		}
		return 0
	}
	o, err := parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		log.Print(err)
		return stackFailed
	}
	code, err := run(o)
	if err != nil {
		log.Print(err)
	}
	return code
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("devstack run", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	flags.IntVar(&o.databases, "databases", 0,
		fmt.Sprintf("how many data databases the 64 numbers are spread over (default %d, or what a kept stack has)", defaultDatabases))
	flags.BoolVar(&o.durable, "durable", true, "make commits survive a power cut; false is faster, for tests")
	flags.StringVar(&o.keep, "keep", "", "keep the stack's data and secrets in this `folder` from run to run")
	flags.DurationVar(&o.grace, "grace", defaultGrace, "how long the command may take to end after an interrupt")

	if len(args) == 0 || args[0] != "run" {
		flags.Usage()
		return options{}, errors.New(`the first argument must be "run"`)
	}
	if err := flags.Parse(args[1:]); err != nil {
		return options{}, err
	}
	o.command = flags.Args()
	if len(o.command) == 0 {
		return options{}, errors.New("there is no command to run")
	}
	if o.databases < 0 || o.databases > numbers {
		return options{}, fmt.Errorf("--databases must be between 1 and %d", numbers)
	}
	return o, nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// act is a command that changes a migration. It looks first, and says in plain words
// what it would do; it does it with --execute only.
type act struct {
	use, short, long string

	// states are those in which it can be done, and statesFor likewise where that
	// depends on the flags or on what is named.
	states    []string
	statesFor func(target) []string

	// current acts look at what of the plan isn't as it would be made now. obstacle is
	// what they would be refused for in a state that allows them, and warning what they
	// would not be refused for and is wrong all the same; "" for nothing.
	current           bool
	obstacle, warning func(target) string

	// named acts are about what somebody has read, so that with --execute they take
	// the hash of what was read and no later one. The others name the plan that
	// stands, unless they are told another.
	named bool
	about *subject // what is named by the hash; a plan if nil

	// planless acts name no plan.
	planless bool

	// told acts show first what they are about, with --execute too: on the standard
	// error, so that what was done stands alone.
	told bool

	// would says what it would do. It may read, and changes nothing.
	would func(ctx context.Context, api caller, t target) (string, error)
	// do does it.
	do func(ctx context.Context, api caller, t target) (answer, error)
}

// subject is what an act names by a hash.
type subject struct {
	flag, usage string
	missing     string // what is to be done where there is none
	standing    func(holdfast.TenantMigrationStatus) string
}

var standingPlan = &subject{
	flag: "plan", usage: "the plan's `hash`", missing: "the migration has no plan yet: holdfast migration preview makes one",
	standing: func(s holdfast.TenantMigrationStatus) string { return deref(s.Migration.PlanHash) },
}

// target is a migration that was looked at, and the plan that an act names.
type target struct {
	tenant, id string
	holdfast.TenantMigrationStatus
	hash  string               // of the plan, or of what else the act names; "" where there is none yet
	drift []holdfast.PlanDrift // what has changed since the plan was made; nil where it wasn't held against that
}

// command makes the command. What it has of flags of its own is added by the caller.
func (a act) command(r *remote) *cobra.Command {
	var execute bool
	var hash string
	if a.about == nil {
		a.about = standingPlan
	}
	command := &cobra.Command{
		Use:   a.use + " TENANT MIGRATION",
		Short: a.short,
		Long:  a.short + ".\n\n" + a.long + withoutExecute,
		Args:  arguments("TENANT", "MIGRATION"),
	}
	command.RunE = r.call(func(ctx context.Context, api caller, args []string) (answer, error) {
		if a.named && execute && hash == "" {
			return answer{}, exitError{exitUsage, fmt.Errorf("--execute takes --%s, the hash of what was read", a.about.flag)}
		}
		api, err := api.patient()
		if err != nil {
			return answer{}, err
		}
		t, err := lookAt(ctx, api, args[0], args[1])
		if err != nil {
			return answer{}, err
		}
		if t.hash = hash; hash == "" {
			t.hash = a.about.standing(t.TenantMigrationStatus)
		}
		if a.statesFor != nil {
			a.states = a.statesFor(t)
		}
		if execute {
			return a.execute(ctx, command.ErrOrStderr(), api, t)
		}
		return a.rehearse(ctx, command, api, t)
	})
	command.Flags().BoolVar(&execute, "execute", false, "do it; without it nothing is changed")
	if !a.planless {
		usage := a.about.usage + "; that of the one that stands by default"
		if a.named {
			usage = a.about.usage + " that was read; --execute demands it"
		}
		command.Flags().Var(hashFlag{&hash}, a.about.flag, usage)
	}
	return command
}

const withoutExecute = "Without --execute it says what it would do, and changes nothing. The exit code is 3, with --execute\n" +
	"too, where the migration's state doesn't allow it, its plan has drifted or its baseline is missing."

// lookAt reads a migration.
func lookAt(ctx context.Context, api caller, tenant, id string) (target, error) {
	status, err := migrationStatus(ctx, api, tenant, id)
	return target{tenant: tenant, id: id, TenantMigrationStatus: status, hash: deref(status.Migration.PlanHash)}, err
}

func (a act) execute(ctx context.Context, say io.Writer, api caller, t target) (answer, error) {
	if !a.planless && t.hash == "" {
		return answer{}, errors.New(a.about.missing)
	}
	if a.told {
		t, err := a.hold(ctx, api, t)
		if err != nil {
			return answer{}, err
		}
		would, err := a.would(ctx, api, t)
		if err != nil {
			return answer{}, err
		}
		if _, err := fmt.Fprintf(say, "%s\n%s\n", t.headline(), would); err != nil {
			return answer{}, err
		}
	}
	return a.do(ctx, api, t)
}

func (a act) allows(t target) bool { return slices.Contains(a.states, t.Migration.State) }

// rehearsal is what an act would do.
type rehearsal struct {
	Executed bool   `json:"executed"` // false
	State    string `json:"state,omitempty"`
	Allowed  bool   `json:"allowed"`           // as far as can be told by looking
	Refusal  string `json:"refusal,omitempty"` // why it isn't
	Warning  string `json:"warning,omitempty"`
	Would    string `json:"would"`
	Command  string `json:"command"` // that does it
}

func (a act) rehearse(ctx context.Context, command *cobra.Command, api caller, t target) (answer, error) {
	if err := a.demandStanding(t); err != nil {
		return answer{}, err
	}
	t, err := a.hold(ctx, api, t)
	if err != nil {
		return answer{}, err
	}
	would, err := a.would(ctx, api, t)
	if err != nil {
		return answer{}, err
	}
	named := ""
	if a.named && t.hash != "" {
		named = "--" + a.about.flag + " " + t.hash
	}
	told := rehearsal{State: t.Migration.State, Would: would, Refusal: a.refusal(t), Command: executing(command, named)}
	told.Allowed = told.Refusal == ""
	if told.Allowed && a.warning != nil {
		told.Warning = a.warning(t)
	}
	return answer{value: told, differs: !told.Allowed || told.Warning != "", write: func(out io.Writer) error { return told.write(out, t.headline()) }}, nil
}

// write says what would be done of what the headline names, and how, or why not.
func (told rehearsal) write(out io.Writer, headline string) error {
	if !told.Allowed {
		_, err := fmt.Fprintf(out, "%s\n%s\nBut it would be refused: %s\nNothing was changed.\n", headline, told.Would, told.Refusal)
		return err
	}
	if told.Warning != "" {
		told.Would += "\n" + told.Warning
	}
	_, err := fmt.Fprintf(out, "%s\n%s\nNothing was changed. To do it:\n  %s\n", headline, told.Would, told.Command)
	return err
}

// headline says which migration it is about, and where it stands.
func (t target) headline() string {
	return fmt.Sprintf("Migration %s (%s) of tenant %s is %s.", t.id, t.Migration.Kind, t.tenant, t.Migration.State)
}

// executing is the command line that does what this one rehearses, with what it
// names by then.
func executing(command *cobra.Command, named string) string {
	words := append([]string{command.CommandPath()}, command.Flags().Args()...)
	command.Flags().Visit(func(f *pflag.Flag) {
		value := f.Value.String()
		if list, ok := f.Value.(pflag.SliceValue); ok {
			value = strings.Join(list.GetSlice(), ",")
		}
		switch {
		case f.Name == "json", strings.HasPrefix(named, "--"+f.Name+" "):
		case f.NoOptDefVal != "" && f.NoOptDefVal == value:
			words = append(words, "--"+f.Name)
		default:
			words = append(words, "--"+f.Name, shellWord(value))
		}
	})
	if named != "" {
		words = append(words, named)
	}
	return strings.Join(append(words, "--execute"), " ")
}

// shellWord quotes a word for a POSIX shell where it has to be.
func shellWord(word string) string {
	plain := func(c rune) bool {
		return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune("-_.:,/@+=", c)
	}
	if word != "" && strings.IndexFunc(word, func(c rune) bool { return !plain(c) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// either joins words by commas and "or".
func either(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// demandFlag makes a flag of the command one that has to be given.
func demandFlag(command *cobra.Command, name string) {
	if err := command.MarkFlagRequired(name); err != nil {
		panic(err) // there is no such flag
	}
}

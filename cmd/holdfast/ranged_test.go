package main

import (
	"strings"
	"testing"
)

func TestMigrationFlags_OutsideOfTheirBounds_AreRefusedWithThem(t *testing.T) {
	t.Parallel()
	s := scriptedActs(t, "active")
	const beyond = "9223372036854775808"
	preview := "preview --qualification " + anotherOf
	for _, c := range []struct{ command, flag, value, demand string }{
		{preview, "--price-class-a", "NaN", "a price from 0 to 1000000"},
		{preview, "--price-class-b", "Inf", "a price from 0 to 1000000"},
		{preview, "--price-storage", "-0.01", "a price from 0 to 1000000"},
		{preview, "--price-storage", "1000000.5", "a price from 0 to 1000000"},
		{preview, "--free-bytes", "0", "a whole number from 1 to 9223372036854775807"},
		{preview, "--records", "5", "a whole number from 1 to 4"},
		{"caps", "--records", "0", "a whole number from 1 to 4"},
		{"caps", "--rows", "65", "a whole number from 1 to 64"},
		{"caps", "--in-flight", "-1", "a whole number from 1 to 4"},
		{"caps", "--in-flight", beyond, "a whole number from 1 to 4"},
		{"caps", "--bytes", "65535", "a whole number from 65536 to 8388608"},
		{"caps", "--bytes", "8388609", "a whole number from 65536 to 8388608"},
		{"caps", "--bytes", "many", "a whole number from 65536 to 8388608"},
		{"scrub", "--bodies", "0", "a whole number from 1 to 9223372036854775807"},
		{"scrub", "--bytes", beyond, "a whole number from 1 to 9223372036854775807"},
		{"scrub", "--duration", "59s", "a duration from 1m0s to 720h0m0s"},
		{"show", "--every", "0s", "a duration from 1ms to 24h0m0s"},
		{"run", "--every", "-1s", "a duration from 1ms to 24h0m0s"},
	} {
		args := strings.Fields(c.command)
		args = append(append([]string{"migration", args[0], aTenant, aMigration}, args[1:]...), c.flag, c.value)
		want := `holdfast: invalid argument "` + c.value + `" for "` + c.flag + `" flag: it is not ` + c.demand + "\n"
		if got := refused(t, s.environ, exitUsage, args...); !strings.HasPrefix(got, want) || s.wasAsked() != nil {
			t.Errorf("%s %s %s: %s", c.command, c.flag, c.value, got)
		}
	}
}

func TestMigrationFlags_AtTheirBounds_AreTaken(t *testing.T) {
	t.Parallel()
	s := scriptedActs(t, "active")
	for _, args := range []string{
		"caps --rows 64 --records 4 --bytes 8388608 --in-flight 4", "caps --rows 1 --records 1 --bytes 65536 --in-flight 1",
		"scrub --bodies 1 --bytes 9223372036854775807 --duration 720h",
	} {
		words := strings.Fields(args)
		if got := execute(t, s.environ, append([]string{"migration", words[0], aTenant, aMigration}, words[1:]...)...); got.code != exitOK {
			t.Errorf("%s: %+v", args, got)
		}
	}
}

func TestMigrationFlags_ThatNameByAHash_TakeNothingElse(t *testing.T) {
	t.Parallel()
	s := scriptedActs(t, "active")
	for command, flag := range map[string]string{
		"preview": "--qualification", "requalify-preview": "--qualification", "approve": "--hash", "activate": "--plan", "plan": "--plan", "pause": "--plan", "requalify": "--envelope",
	} {
		for _, value := range []string{"", "abc", strings.Repeat("g", 64), strings.Repeat("A", 64), aPlan + "0"} {
			got := refused(t, s.environ, exitUsage, "migration", command, aTenant, aMigration, flag, value)
			if !strings.Contains(got, `for "`+flag+`" flag: it is not the hash of anything: 64 hexadecimal digits`) || s.wasAsked() != nil {
				t.Errorf("%s %s %q: %s", command, flag, value, got)
			}
		}
	}
}

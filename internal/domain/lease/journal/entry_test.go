package journal_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/gowebpki/jcs"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
)

// anyEntry is an entry of any content, whether a journal may have it or not.
func anyEntry() *rapid.Generator[journal.Entry] {
	return rapid.Custom(func(t *rapid.T) journal.Entry {
		integer := rapid.Int64Range(0, 1<<53-1)
		kinds := rapid.SampledFrom([]journal.Kind{journal.KindEntry, journal.KindAdvice, journal.KindLeaseRenewed})
		types := rapid.SampledFrom([]journal.ActorType{journal.ActorCoordinator, journal.ActorPrincipal, journal.ActorOperator})
		e := journal.Entry{
			Position: integer.Draw(t, "position"),
			Epoch:    integer.Draw(t, "epoch"),
			Kind:     kinds.Draw(t, "kind"),
			Actor:    journal.Actor{Type: types.Draw(t, "type"), Issuer: anyText().Draw(t, "issuer"), Subject: anyText().Draw(t, "subject")},
			EntryID:  anyText().Draw(t, "id"),
			At:       time.UnixMicro(rapid.Int64Range(-62135596800e6, 253402300799e6).Draw(t, "µs")).UTC(),
			Details:  must(journal.CanonicalJSON([]byte(anyJSON(2).Draw(t, "details")))),
		}
		if e.Kind == journal.KindEntry {
			e.Payload = rapid.SliceOf(rapid.Byte()).Draw(t, "payload")
		}
		return e
	})
}

func TestHeader_IsTheCanonicalJSONOfItsMembers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := anyEntry().Draw(t, "entry")
		members := map[string]any{
			"position": e.Position, "epoch": e.Epoch, "kind": e.Kind, "actor": e.Actor,
			"at": e.At.Format("2006-01-02T15:04:05.000000Z07:00"), "details": e.Details,
		}
		if e.EntryID != "" {
			members["entry_id"] = e.EntryID
		}
		want := must(jcs.Transform(must(json.Marshal(members))))
		if diff := cmp.Diff(string(want), string(e.Header())); diff != "" {
			t.Fatalf("(-another implementation's +ours):\n%s", diff)
		}
	})
}

func TestLine_ReadsBackAsTheEntry(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := anyEntry().Draw(t, "entry")
		got, err := journal.ParseLine(e.AppendJSON(nil))
		if err != nil {
			t.Fatalf("%s: %v", e.AppendJSON(nil), err)
		}
		if diff := cmp.Diff(e, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("(-written +read):\n%s", diff)
		}
	})
}

func TestChain_DependsOnEachPartOfAnEntry(t *testing.T) {
	t.Parallel()
	e := newBook(t).writes(shop, "a", []byte("b")).entries[1]
	seen := map[journal.Hash]string{e.Chain(journal.Hash{}): "the entry", e.Chain(journal.Hash{1}): "another hash in front"}
	for part, alter := range map[string]func(*journal.Entry){
		"position":    func(e *journal.Entry) { e.Position++ },
		"epoch":       func(e *journal.Entry) { e.Epoch++ },
		"kind":        func(e *journal.Entry) { e.Kind = journal.KindAdvice },
		"actor":       func(e *journal.Entry) { e.Actor.Type = journal.ActorOperator },
		"issuer":      func(e *journal.Entry) { e.Actor.Issuer += "x" },
		"subject":     func(e *journal.Entry) { e.Actor.Subject += "x" },
		"entry id":    func(e *journal.Entry) { e.EntryID = "A" },
		"no entry id": func(e *journal.Entry) { e.EntryID = "" },
		"time":        func(e *journal.Entry) { e.At = e.At.Add(time.Microsecond) },
		"details":     func(e *journal.Entry) { e.Details = json.RawMessage(`{"format":"json"}`) },
		"payload":     func(e *journal.Entry) { e.Payload = []byte("c") },
		"no payload":  func(e *journal.Entry) { e.Payload = nil },
	} {
		altered := e
		alter(&altered)
		hash := altered.Chain(journal.Hash{})
		if same, ok := seen[hash]; ok {
			t.Errorf("%s: the hash is that of %s", part, same)
		}
		seen[hash] = part
	}
}

func TestParseLine_RefusesWhatIsNoEntryToTheLetter(t *testing.T) {
	t.Parallel()
	bytes := string(newBook(t).writes(shop, "a", []byte("b")).entries[1].AppendJSON(nil))
	value := string(newBook(t).writesJSON(shop, "a", "1").entries[1].AppendJSON(nil))
	created := string(newBook(t).entries[0].AppendJSON(nil))
	for what, text := range map[string]string{
		"no JSON":                   "position 1",
		"two values":                bytes + bytes,
		"an array":                  "[" + bytes + "]",
		"half a line":               bytes[:len(bytes)-9],
		"a member twice":            replace(t, bytes, `{"position":2,`, `{"position":1,"position":2,`),
		"an unknown member":         replace(t, bytes, `{"position":2,`, `{"note":"","position":2,`),
		"another case":              replace(t, bytes, `"epoch"`, `"Epoch"`),
		"an unknown actor member":   replace(t, bytes, `"actor":{`, `"actor":{"name":"x",`),
		"a broken position":         replace(t, bytes, `"position":2`, `"position":2.5`),
		"invalid UTF-8":             replace(t, bytes, `"entry_id":"a"`, "\"entry_id\":\"\xff\""),
		"a lone surrogate":          replace(t, bytes, `"entry_id":"a"`, `"entry_id":"\ud800"`),
		"a time without fraction":   replace(t, bytes, `.250000Z`, `Z`),
		"a finer time":              replace(t, bytes, `.250000Z`, `.2500001Z`),
		"a time with a comma":       replace(t, bytes, `.250000Z`, `,250000Z`),
		"a time elsewhere":          replace(t, bytes, `.250000Z`, `.250000+00:00`),
		"no details":                replace(t, bytes, `"details":{"format":"bytes"},`, ``),
		"inexact details":           replace(t, bytes, `"details":{`, `"details":{"n":9007199254740993,`),
		"an upper-case hash":        replace(t, bytes, `"hash":"`, `"hash":"A`),
		"a short digest":            replace(t, bytes, `"digest":"3e`, `"digest":"`),
		"another digest":            replace(t, bytes, `"digest":"3e`, `"digest":"3f`),
		"no digest":                 replace(t, bytes, `"digest":`, `"hash":`),
		"another payload":           replace(t, bytes, `"payload":"Yg=="`, `"payload":"Yw=="`),
		"no payload":                replace(t, bytes, `"payload":"Yg==",`, ``),
		"no base64":                 replace(t, bytes, `"payload":"Yg=="`, `"payload":"Y"`),
		"a value for bytes":         replace(t, bytes, `"payload":"Yg=="`, `"json":"b"`),
		"bytes for a value":         replace(t, value, `"json":1`, `"payload":"MQ=="`),
		"bytes beside a value":      replace(t, value, `"json":1`, `"json":1,"payload":"MQ=="`),
		"an inexact value":          replace(t, value, `"json":1`, `"json":9007199254740993`),
		"a payload of Holdfast's":   replace(t, created, `"details":{},`, `"details":{},"payload":"",`),
		"a value beside Holdfast's": replace(t, created, `"details":{},`, `"details":{},"json":null,`),
	} {
		if e, err := journal.ParseLine([]byte(text)); err == nil {
			t.Errorf("%s: it is read as %+v", what, e)
		}
	}
}

func TestParseLine_NamesTheMemberAtFault(t *testing.T) {
	t.Parallel()
	created := string(newBook(t).entries[0].AppendJSON(nil))
	for given, want := range map[string]string{`"actor":{"name":"x",`: `"/actor/name"`, `"actor":{"subject":1,`: `"/actor/subject"`} {
		if _, err := journal.ParseLine([]byte(replace(t, created, `"actor":{`, given))); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v", given, err)
		}
	}
}

// The journal's hashes are of what its JSON means: whatever tool wrote it again.
func TestParseLine_TakesAnySpelling(t *testing.T) {
	t.Parallel()
	want := newBook(t).writesJSON(shop, "a", `{"x":"é","y":1}`).entries[1]
	var members map[string]any
	if err := json.Unmarshal(want.AppendJSON(nil), &members); err != nil {
		t.Fatal(err)
	}
	got, err := journal.ParseLine(must(json.MarshalIndent(members, "", "\t")))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// replace demands that there is what it replaces.
func replace(t testing.TB, text, old, new string) string {
	t.Helper()
	if strings.Count(text, old) != 1 {
		t.Fatalf("%q is not there once, in %s", old, text)
	}
	return strings.Replace(text, old, new, 1)
}

func FuzzParseLine(f *testing.F) {
	for _, e := range story(f).entries {
		f.Add(e.AppendJSON(nil))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := journal.ParseLine(text)
		if err != nil {
			return
		}
		written := e.AppendJSON(nil)
		again, err := journal.ParseLine(written)
		if err != nil {
			t.Fatalf("%s: %v", written, err)
		}
		if diff := cmp.Diff(e, again, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("(-read +read again):\n%s", diff)
		}
		if e.Position > 1<<53-1 || e.Epoch > 1<<53-1 || e.Position < 1-1<<53 || e.Epoch < 1-1<<53 {
			return // which Apply refuses, and no double holds
		}
		if canonical := must(journal.CanonicalJSON(e.Header())); string(canonical) != string(e.Header()) {
			t.Fatalf("the header is not canonical:\n%s", e.Header())
		}
	})
}

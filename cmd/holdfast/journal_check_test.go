package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

func TestJournalCheck_NamesWhatItFindsInWhichTenant(t *testing.T) {
	t.Parallel()
	s := serve(t, "data1", "data2")
	tenant := told[holdfast.Tenant](t, s, "tenant", "create", "acme").ID
	sound := told[holdfast.Tenant](t, s, "tenant", "create", "sound").ID
	of, err := domain.ParseID[domain.TenantKind](tenant)
	must(t, err)
	scope := tenancy.Scope{Tenant: of, Principal: domain.NewID[domain.PrincipalKind](time.Now())}
	worlds := lease.New(s.installation.Router(t, postgres.RoleAPI), nil, lease.Options{})
	for _, id := range []string{"arena", "lobby"} {
		_, err := worlds.CreateWorld(t.Context(), scope, id, lease.Policy{})
		must(t, err)
		_, err = worlds.Append(t.Context(), scope, id, nil, lease.Append{Entries: []lease.AppendEntry{{Payload: []byte("x")}}})
		must(t, err)
	}
	must(t, worlds.RetireWorld(t.Context(), scope, "lobby"))

	environ := s.installation.Environ()
	const heads = "TENANT  WORLDS  RETIRED  ENTRIES  REJECTIONS  COUNTED  CHECKPOINTS  VIOLATIONS\n"
	expectResult(t, execute(t, environ, "journal", "check"), exitOK, heads+
		"acme    2       1        5        0           0        0            0\n"+
		"sound   0       0        0        0           0        0            0\n", "")

	for _, database := range []string{"data1", "data2"} {
		_, err := s.installation.Admin(t, database).Exec(t.Context(), `UPDATE journal SET payload = 'y' WHERE world_id = 'arena' AND position = 2`)
		must(t, err)
	}
	for _, args := range [][]string{{"journal", "check"}, {"journal", "check", tenant}} {
		got := execute(t, environ, args...)
		want := regexp.MustCompile(`^\nacme:\njournal_broken in number \d+ on data[12], world arena, position 2\n  The journal can't be replayed from here on: .*\n\nTENANT .*\nacme .* 1\n`)
		if got.code != exitDiffers || !want.MatchString(got.stdout) || got.stderr != "" {
			t.Errorf("%v: %+v", args, got)
		}
	}
	got := execute(t, environ, "journal", "check", "--json")
	var objects []map[string]any
	for decoder := json.NewDecoder(strings.NewReader(got.stdout)); decoder.More(); {
		var object map[string]any
		must(t, decoder.Decode(&object))
		objects = append(objects, object)
	}
	if len(objects) != 3 || objects[0]["violation"].(map[string]any)["kind"] != "journal_broken" || objects[0]["tenant_id"] != tenant ||
		objects[1]["census"].(map[string]any)["violations"] != 1.0 || objects[2]["name"] != "sound" || got.code != exitDiffers {
		t.Errorf("with --json: %+v", got)
	}
	expectResult(t, execute(t, environ, "journal", "check", sound), exitOK, heads+
		"sound   0       0        0        0           0        0            0\n", "")
}

package identity_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
)

// The file's numbers come from sha256sum, so they also check domain.NumberOf.
func TestKeys_StandWhereTheyAlwaysStood(t *testing.T) {
	text, err := os.ReadFile("testdata/keys.tsv")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[domain.Family]int{}
	for i, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		column := strings.Split(line, "\t")
		if len(column) != 5 {
			t.Fatalf("line %d has %d columns", i+1, len(column))
		}
		family, key := goldenKey(t, column[0], identity.HandlePolicy(column[1]), column[2])
		if key != column[3] {
			t.Errorf("line %d: %q has the key %q, was %q", i+1, column[2], key, column[3])
		}
		partition := domain.Partition{Family: family, Number: domain.NumberOf(key)}
		if got, want := partition.Bucket(), fmt.Sprintf("identity-v1/%s/%s", family, column[4]); got != want {
			t.Errorf("line %d: %q is in %s, was in %s", i+1, key, got, want)
		}
		seen[family]++
	}
	for _, family := range []domain.Family{domain.FamilyAccount, domain.FamilyHandle, domain.FamilyEmail, domain.FamilyDevice, domain.FamilyDeviceCode} {
		if seen[family] < 2 {
			t.Errorf("the %s family has %d vectors", family, seen[family])
		}
	}
}

func goldenKey(t *testing.T, family string, policy identity.HandlePolicy, given string) (domain.Family, string) {
	t.Helper()
	switch family {
	case "account", "device":
		id, err := domain.ParseID[struct{}](given)
		if err != nil {
			t.Fatal(err)
		}
		return domain.Family(family), id.String()
	case "handle":
		return domain.FamilyHandle, mustHandle(t, policy, given).Key()
	case "skeleton":
		return domain.FamilyHandle, mustHandle(t, policy, given).Skeleton()
	case "email":
		return domain.FamilyEmail, mustEmail(t, policy, given).Key()
	case "device-code":
		code, err := identity.ParseUserCode(given)
		if err != nil {
			t.Fatal(err)
		}
		return domain.FamilyDeviceCode, code.Key()
	default:
		t.Fatalf("unknown family %q", family)
		return "", ""
	}
}

package identity_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
)

func mustHandle(t testing.TB, policy identity.HandlePolicy, s string) identity.Handle {
	t.Helper()
	h, err := identity.ParseHandle(policy, identity.Reserved{}, s)
	if err != nil {
		t.Fatalf("ParseHandle(%s, %+q): %v", policy, s, err)
	}
	return h
}

// wantRefusal checks that err is what a caller may see: Invalid, of that code,
// and silent about the text that was submitted.
func wantRefusal(t testing.TB, err error, code, submitted string) {
	t.Helper()
	if domain.KindOf(err) != domain.KindInvalid || domain.CodeOf(err) != code {
		t.Fatalf("%+q: got %v, want invalid: %s", submitted, err, code)
	}
	if len(submitted) > 6 && strings.Contains(err.Error(), submitted) {
		t.Fatalf("%+q: the error repeats what was submitted: %v", submitted, err)
	}
}

func TestHandle_HasOneKeyInEveryLetterCase(t *testing.T) {
	for _, tc := range []struct {
		policy  identity.HandlePolicy
		key     string
		written []string
	}{
		{identity.HandleASCII, "alice", []string{"alice", "Alice", "ALICE", "aLiCe"}},
		{identity.HandleASCII, "7-of_9.borg", []string{"7-of_9.borg", "7-OF_9.BORG"}},
		{identity.HandleUnicode, "alice", []string{"alice", "ALICE", "ａｌｉｃｅ"}},
		{identity.HandleUnicode, "kelvin", []string{"kelvin", "KELVIN", "\u212aelvin"}}, // KELVIN SIGN
		{identity.HandleUnicode, "jos\u00e9", []string{"jos\u00e9", "jose\u0301", "JOSÉ", "JOSE\u0301"}},
		{identity.HandleUnicode, "σασ", []string{"σασ", "σας", "ΣΑΣ"}},
		{identity.HandleUnicode, "вода", []string{"вода", "ВОДА", "\u1c80ода"}},
		{identity.HandleUnicode, "к\u04e7м", []string{"к\u04e7м", "КО\u0308М", "к\u1c82\u0308м"}},
		{identity.HandleUnicode, "straße", []string{"straße", "STRAẞE"}},
		{identity.HandleUnicode, "\uab70\uab71", []string{"\uab70\uab71", "\u13a0\u13a1"}}, // Cherokee
		{identity.HandleUnicode, "a\u00e5", []string{"a\u00e5", "A\u212b"}},                // ANGSTROM SIGN
	} {
		for _, s := range tc.written {
			h := mustHandle(t, tc.policy, s)
			if h.Key() != tc.key || h.String() != s {
				t.Errorf("%s %+q: key %+q, shown %+q; want key %+q, shown as written", tc.policy, s, h.Key(), h.String(), tc.key)
			}
		}
	}
}

func TestHandle_IsRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		policy identity.HandlePolicy
		code   string
		s      string
	}{
		"empty":                       {identity.HandleASCII, "handle_empty", ""},
		"empty, unicode":              {identity.HandleUnicode, "handle_empty", ""},
		"65 characters":               {identity.HandleASCII, "handle_too_long", strings.Repeat("a", 65)},
		"65 characters, unicode":      {identity.HandleUnicode, "handle_too_long", strings.Repeat("ж", 65)},
		"a megabyte":                  {identity.HandleUnicode, "handle_too_long", strings.Repeat("a", 1<<20)},
		"long and invalid":            {identity.HandleASCII, "handle_too_long", strings.Repeat("\x00", 300)},
		"starts with a dot":           {identity.HandleASCII, "handle_invalid", ".alice"},
		"starts with a hyphen":        {identity.HandleASCII, "handle_invalid", "-alice"},
		"starts with an underscore":   {identity.HandleASCII, "handle_invalid", "_alice"},
		"space within":                {identity.HandleASCII, "handle_invalid", "al ice"},
		"space around":                {identity.HandleASCII, "handle_invalid", " alice"},
		"email address":               {identity.HandleASCII, "handle_invalid", "alice@example.com"},
		"slash":                       {identity.HandleASCII, "handle_invalid", "alice/bob"},
		"colon":                       {identity.HandleASCII, "handle_invalid", "alice:bob"},
		"KELVIN SIGN":                 {identity.HandleASCII, "handle_invalid", "\u212aelvin"},
		"beyond ASCII":                {identity.HandleASCII, "handle_invalid", "jos\u00e9"},
		"NUL":                         {identity.HandleASCII, "handle_invalid", "ali\x00ce"},
		"NUL, unicode":                {identity.HandleUnicode, "handle_invalid", "ali\x00ce"},
		"newline":                     {identity.HandleASCII, "handle_invalid", "alice\n"},
		"C1 control":                  {identity.HandleUnicode, "handle_invalid", "ali\u0085ce"},
		"invalid UTF-8":               {identity.HandleUnicode, "handle_invalid", "ali\xffce"},
		"encoded surrogate":           {identity.HandleUnicode, "handle_invalid", "ali\xed\xa0\x80ce"},
		"replacement character":       {identity.HandleUnicode, "handle_invalid", "ali\ufffdce"},
		"email address, unicode":      {identity.HandleUnicode, "handle_invalid", "alice@example.com"},
		"fullwidth @":                 {identity.HandleUnicode, "handle_invalid", "alice\uff20example"},
		"slash, unicode":              {identity.HandleUnicode, "handle_invalid", "alice/bob"},
		"fullwidth slash":             {identity.HandleUnicode, "handle_invalid", "alice\uff0fbob"},
		"space, unicode":              {identity.HandleUnicode, "handle_invalid", "alice bob"},
		"no-break space":              {identity.HandleUnicode, "handle_invalid", "alice\u00a0bob"},
		"zero-width space":            {identity.HandleUnicode, "handle_invalid", "alice\u200bbob"},
		"joiner out of context":       {identity.HandleUnicode, "handle_invalid", "alice\u200dbob"},
		"right-to-left override":      {identity.HandleUnicode, "handle_invalid", "alice\u202ebob"},
		"variation selector":          {identity.HandleUnicode, "handle_invalid", "alice\ufe0f"},
		"tag character":               {identity.HandleUnicode, "handle_invalid", "alice\U000e0061"},
		"private use":                 {identity.HandleUnicode, "handle_invalid", "alice\ue000"},
		"unassigned":                  {identity.HandleUnicode, "handle_invalid", "\u0378"},
		"emoji":                       {identity.HandleUnicode, "handle_invalid", "alice😀"},
		"ligature":                    {identity.HandleUnicode, "handle_invalid", "ﬁona"},
		"Latin with a Cyrillic а":     {identity.HandleUnicode, "handle_invalid", "p\u0430ypal"},
		"Latin with a Greek ο":        {identity.HandleUnicode, "handle_invalid", "bοb"},
		"Latin with Han":              {identity.HandleUnicode, "handle_invalid", "bob王"},
		"Kana with Hangul":            {identity.HandleUnicode, "handle_invalid", "かな한글"},
		"both directions":             {identity.HandleUnicode, "handle_invalid", "1אa"},
		"dot above i":                 {identity.HandleUnicode, "handle_invalid", "admi\u0307n"},
		"capital I with dot":          {identity.HandleUnicode, "handle_invalid", "adm\u0130n"},
		"dot above i, mark between":   {identity.HandleUnicode, "handle_invalid", "admi\u0323\u0307n"},
		"dot above dotless i":         {identity.HandleUnicode, "handle_invalid", "adm\u0131\u0307n"},
		"mark at the front":           {identity.HandleUnicode, "handle_invalid", "\u0301bob"},
		"the same mark twice":         {identity.HandleUnicode, "handle_invalid", "bo\u0301\u0301b"},
		"the same mark, once hidden":  {identity.HandleUnicode, "handle_invalid", "b\u00f3\u0301b"},
		"five marks on a letter":      {identity.HandleUnicode, "handle_invalid", "q\u0300\u0301\u0302\u0303\u0304"},
		"reserved":                    {identity.HandleASCII, "handle_reserved", "admin"},
		"reserved in another case":    {identity.HandleASCII, "handle_reserved", "Admin"},
		"reserved, unicode":           {identity.HandleUnicode, "handle_reserved", "SUPPORT"},
		"well-known, unicode":         {identity.HandleUnicode, "handle_reserved", ".well-known"},
		"parent folder, unicode":      {identity.HandleUnicode, "handle_reserved", ".."},
		"look-alike of reserved":      {identity.HandleUnicode, "handle_reserved", "аррӏе"},
		"look-alike of reserved, one": {identity.HandleUnicode, "handle_reserved", "rnod"},
	} {
		t.Run(name, func(t *testing.T) {
			reserved := identity.DefaultReserved()
			if name == "look-alike of reserved" {
				var err error
				if reserved, err = identity.NewReserved(identity.HandleUnicode, []string{"Apple"}); err != nil {
					t.Fatal(err)
				}
			}
			h, err := identity.ParseHandle(tc.policy, reserved, tc.s)
			wantRefusal(t, err, tc.code, tc.s)
			if !h.IsZero() {
				t.Errorf("a refused handle is not zero: %+v", h)
			}
		})
	}
}

func TestHandle_IsAccepted(t *testing.T) {
	for _, tc := range []struct {
		policy identity.HandlePolicy
		s      string
	}{
		{identity.HandleASCII, "a"},
		{identity.HandleASCII, "0"},
		{identity.HandleASCII, strings.Repeat("a", 64)},
		{identity.HandleASCII, "a..b"},
		{identity.HandleUnicode, strings.Repeat("ж", 64)},
		{identity.HandleUnicode, strings.Repeat("\U00020000", 64)}, // 256 octets
		{identity.HandleUnicode, "_bob"},
		{identity.HandleUnicode, "hans-peter.7"},
		{identity.HandleUnicode, "nguyễn"},
		{identity.HandleUnicode, "søren"},
		{identity.HandleUnicode, "ışık"},
		{identity.HandleUnicode, "山田たろう"},
		{identity.HandleUnicode, "データー"},
		{identity.HandleUnicode, "金한글"},
		{identity.HandleUnicode, "王ㄅㄆ"},
		{identity.HandleUnicode, "שלום"},
		{identity.HandleUnicode, "سلام"},
		{identity.HandleUnicode, "नमस्ते"},
		{identity.HandleUnicode, "ศรี"},
		{identity.HandleUnicode, "क्\u200dष"}, // a joiner after a virama, where it means something
	} {
		if h := mustHandle(t, tc.policy, tc.s); h.String() != tc.s || h.IsZero() {
			t.Errorf("%+q is shown as %+q", tc.s, h.String())
		}
	}
}

func TestHandle_SkeletonIsAClaimOfItsOwnAndSharedByLookAlikes(t *testing.T) {
	for _, pair := range [][2]string{
		{"coco", "сосо"}, // Cyrillic
		{"modern", "rnodern"},
		{"paypal", "paypa1"},
		{"heizölruckstossabdampfung", "heizölruckstossabdarnpfung"},
		{"क्ष", "क्\u200dष"}, // the joiner can't be seen in every font
	} {
		a, b := mustHandle(t, identity.HandleUnicode, pair[0]), mustHandle(t, identity.HandleUnicode, pair[1])
		if a.Key() == b.Key() {
			t.Errorf("%q and %q are one key", pair[0], pair[1])
		}
		if a.Skeleton() != b.Skeleton() {
			t.Errorf("%q and %q are told apart: %q, %q", pair[0], pair[1], a.Skeleton(), b.Skeleton())
		}
		if a.Skeleton() == a.Key() || b.Skeleton() == b.Key() {
			t.Errorf("%q or %q conflicts with its own skeleton", pair[0], pair[1])
		}
		if _, err := identity.ParseHandle(identity.HandleUnicode, identity.Reserved{}, a.Skeleton()); err == nil {
			t.Errorf("somebody may take the skeleton %q as a handle", a.Skeleton())
		}
	}
	if a, b := mustHandle(t, identity.HandleUnicode, "anna"), mustHandle(t, identity.HandleUnicode, "hanna"); a.Skeleton() == b.Skeleton() {
		t.Error("different names share a skeleton")
	}
	if s := mustHandle(t, identity.HandleASCII, "coco").Skeleton(); s != "" {
		t.Errorf("an ascii handle has the skeleton %q", s)
	}
}

func TestRestoreHandle_RunsNoRule(t *testing.T) {
	h := identity.RestoreHandle("Ö Ö", "old key", "skeleton/old")
	got := []string{h.String(), h.Key(), h.Skeleton()}
	if diff := cmp.Diff([]string{"Ö Ö", "old key", "skeleton/old"}, got); diff != "" {
		t.Error(diff)
	}
	parsed := mustHandle(t, identity.HandleUnicode, "Coco")
	if identity.RestoreHandle(parsed.String(), parsed.Key(), parsed.Skeleton()) != parsed {
		t.Error("a restored handle differs from the one that was stored")
	}
}

func TestHandlePolicy(t *testing.T) {
	for _, s := range []string{"ascii", "unicode"} {
		if p, err := identity.ParseHandlePolicy(s); err != nil || string(p) != s {
			t.Errorf("%q: %q, %v", s, p, err)
		}
	}
	for _, s := range []string{"", "ASCII", "utf-8"} {
		_, err := identity.ParseHandlePolicy(s)
		wantRefusal(t, err, "handle_policy_invalid", s)
	}
	// A policy that nobody parsed is our fault, not the caller's.
	if _, err := identity.ParseHandle("", identity.Reserved{}, "alice"); err == nil || domain.KindOf(err) != domain.KindInternal {
		t.Errorf("no policy: %v", err)
	}
	if _, err := identity.ParseEmail("", "alice@example.com"); err == nil || domain.KindOf(err) != domain.KindInternal {
		t.Errorf("no policy: %v", err)
	}
}

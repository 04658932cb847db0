package identity_test

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/domain/identity"
)

func mustEmail(t testing.TB, policy identity.HandlePolicy, s string) identity.Email {
	t.Helper()
	e, err := identity.ParseEmail(policy, s)
	if err != nil {
		t.Fatalf("ParseEmail(%s, %+q): %v", policy, s, err)
	}
	return e
}

func TestEmail_HasOneKeyInEverySpellingThatMeansTheSame(t *testing.T) {
	for _, tc := range []struct {
		policy identity.HandlePolicy
		key    string
		given  []string
	}{
		{identity.HandleASCII, "alice@example.com", []string{"alice@example.com", "Alice@Example.COM"}},
		{identity.HandleASCII, "a@xn--bcher-kva.de", []string{"a@bücher.de", "a@BÜCHER.de", "a@bu\u0308cher.de", "a@xn--bcher-kva.de", "A@XN--BCHER-KVA.DE"}},
		{identity.HandleASCII, "a@xn--strae-oqa.de", []string{"a@straße.de", "a@STRAẞE.de"}}, // non-transitional: not strasse
		{identity.HandleASCII, "a@b.example", []string{"a@b.example", "a@ｂ.example", "a@b。example"}},
		{identity.HandleASCII, "a.b+tag@x.com", []string{"a.b+tag@x.com", "A.B+TAG@x.com"}},
		{identity.HandleUnicode, "alice@example.com", []string{"alice@example.com", "ALICE@example.com"}},
		{identity.HandleUnicode, "jos\u00e9@x.com", []string{"jos\u00e9@x.com", "jose\u0301@x.com", "JOSÉ@x.com", "JOSE\u0301@x.com"}},
		{identity.HandleUnicode, "\u1e96@x.com", []string{"\u1e96@x.com", "H\u0331@x.com"}}, // composed only in lower case
		{identity.HandleUnicode, "δοκιμή@xn--hxajbheg2az3al.xn--jxalpdlp", []string{"δοκιμή@παράδειγμα.δοκιμή", "ΔΟΚΙΜΉ@παράδειγμα.δοκιμή"}},
	} {
		for _, s := range tc.given {
			e := mustEmail(t, tc.policy, s)
			if e.Key() != tc.key || e.String() != s {
				t.Errorf("%s %+q: key %+q, sent to %+q; want key %+q, sent to as given", tc.policy, s, e.Key(), e.String(), tc.key)
			}
		}
	}
}

func TestEmail_MergesNothingThatAHostMayTellApart(t *testing.T) {
	for _, pair := range [][2]string{
		{"a.b@gmail.com", "ab@gmail.com"},
		{"a+tag@x.com", "a@x.com"},
		{"jose@x.com", "josé@x.com"},
		{"ı@x.com", "i@x.com"},
		{"admi\u0307n@x.com", "admin@x.com"},
		{"σας@x.com", "σασ@x.com"},
		{"straße@x.com", "strasse@x.com"},
		{"a@straße.de", "a@strasse.de"},
	} {
		a, b := mustEmail(t, identity.HandleUnicode, pair[0]), mustEmail(t, identity.HandleUnicode, pair[1])
		if a.Key() == b.Key() {
			t.Errorf("%q and %q have one key", pair[0], pair[1])
		}
	}
}

func TestEmail_IsRefused(t *testing.T) {
	label63 := strings.Repeat("d", 63)
	for name, tc := range map[string]struct {
		policy identity.HandlePolicy
		code   string
		s      string
	}{
		"empty":                          {identity.HandleASCII, "email_empty", ""},
		"255 octets":                     {identity.HandleASCII, "email_too_long", strings.Repeat("a", 61) + "@" + label63 + "." + label63 + "." + label63 + ".x"},
		"a megabyte":                     {identity.HandleASCII, "email_too_long", strings.Repeat("a", 1<<20)},
		"long only in A-labels":          {identity.HandleASCII, "email_too_long", strings.Repeat("a", 64) + "@" + strings.Repeat("üa.", 20) + "de"},
		"65-octet local part":            {identity.HandleASCII, "email_too_long", strings.Repeat("a", 65) + "@x.com"},
		"65-octet local part, unicode":   {identity.HandleUnicode, "email_too_long", strings.Repeat("é", 32) + "a@x.com"},
		"local part longer in its key":   {identity.HandleUnicode, "email_too_long", strings.Repeat("\u023a", 32) + "@x.com"}, // Ⱥ is 2 octets, ⱥ 3
		"no @":                           {identity.HandleASCII, "email_invalid", "example.com"},
		"two @":                          {identity.HandleASCII, "email_invalid", "a@b@x.com"},
		"no local part":                  {identity.HandleASCII, "email_invalid", "@x.com"},
		"no domain":                      {identity.HandleASCII, "email_invalid", "a@"},
		"one label":                      {identity.HandleASCII, "email_invalid", "a@b"},
		"trailing dot":                   {identity.HandleASCII, "email_invalid", "a@golang.org."},
		"two trailing dots":              {identity.HandleASCII, "email_invalid", "a@golang.org.."},
		"one label and a dot":            {identity.HandleASCII, "email_invalid", "a@b."},
		"leading dot in domain":          {identity.HandleASCII, "email_invalid", "a@.x.com"},
		"empty label":                    {identity.HandleASCII, "email_invalid", "a@x..com"},
		"empty label, ideographic":       {identity.HandleASCII, "email_invalid", "a@x。。com"},
		"dots together":                  {identity.HandleASCII, "email_invalid", "a..b@x.com"},
		"leading dot":                    {identity.HandleASCII, "email_invalid", ".a@x.com"},
		"dot before @":                   {identity.HandleASCII, "email_invalid", "a.@x.com"},
		"quoted local part":              {identity.HandleASCII, "email_invalid", `"a@b"@x.com`},
		"quoted, plain":                  {identity.HandleASCII, "email_invalid", `"a"@x.com`},
		"display name":                   {identity.HandleASCII, "email_invalid", "Name <a@b.com>"},
		"angle brackets":                 {identity.HandleASCII, "email_invalid", "<a@b.com>"},
		"comment":                        {identity.HandleASCII, "email_invalid", "a@b.com (a)"},
		"comment in local part":          {identity.HandleASCII, "email_invalid", "a(x)@b.com"},
		"group":                          {identity.HandleASCII, "email_invalid", "g: a@b.com;"},
		"two addresses":                  {identity.HandleASCII, "email_invalid", "a@b.com,c@d.com"},
		"space around":                   {identity.HandleASCII, "email_invalid", " a@b.com"},
		"space at the end":               {identity.HandleASCII, "email_invalid", "a@b.com "},
		"address literal":                {identity.HandleASCII, "email_invalid", "a@[127.0.0.1]"},
		"IPv6 literal":                   {identity.HandleASCII, "email_invalid", "a@[IPv6:::1]"},
		"bare IP address":                {identity.HandleASCII, "email_invalid", "a@127.0.0.1"},
		"bare IP address, hexadecimal":   {identity.HandleASCII, "email_invalid", "a@127.0x1"},
		"bare IP address, fullwidth":     {identity.HandleASCII, "email_invalid", "a@１２７.０.０.１"},
		"numeric top label":              {identity.HandleASCII, "email_invalid", "a@example.123"},
		"underscore in domain":           {identity.HandleASCII, "email_invalid", "a@x_y.com"},
		"label starts with a hyphen":     {identity.HandleASCII, "email_invalid", "a@-x.com"},
		"label ends with a hyphen":       {identity.HandleASCII, "email_invalid", "a@x-.com"},
		"hyphens third and fourth":       {identity.HandleASCII, "email_invalid", "a@ab--cd.com"},
		"64-octet label":                 {identity.HandleASCII, "email_invalid", "a@" + label63 + "d.com"},
		"A-label of plain ASCII":         {identity.HandleASCII, "email_invalid", "a@xn--example-.com"},
		"A-label beyond ASCII":           {identity.HandleASCII, "email_invalid", "a@xn--が-.com"},
		"A-label of nothing":             {identity.HandleASCII, "email_invalid", "a@xn--.com"},
		"A-label that doesn't decode":    {identity.HandleASCII, "email_invalid", "a@xn--99999999.com"},
		"A-label of a capital":           {identity.HandleASCII, "email_invalid", "a@xn--bcher-2pa.de"},
		"A-label of letter and mark":     {identity.HandleASCII, "email_invalid", "a@xn--bucher-xyd.de"},
		"A-label, fullwidth, and not":    {identity.HandleASCII, "email_invalid", "a@ｘｎ--が-.com"},
		"A-label after 。, and not":       {identity.HandleASCII, "email_invalid", "a@x。XN--が-.com"},
		"turns to mixed directions":      {identity.HandleASCII, "email_invalid", "a@a\u2135b.com"},
		"mixed directions":               {identity.HandleASCII, "email_invalid", "a@1א.com"},
		"soft hyphen in domain":          {identity.HandleASCII, "email_invalid", "a@exam\u00adple.com"},
		"zero-width space in domain":     {identity.HandleASCII, "email_invalid", "a@exam\u200bple.com"},
		"variation selector in domain":   {identity.HandleASCII, "email_invalid", "a@exam\ufe0fple.com"},
		"ideographic space in domain":    {identity.HandleASCII, "email_invalid", "a@exam\u3000ple.com"},
		"joiner out of context":          {identity.HandleASCII, "email_invalid", "a@exam\u200dple.com"},
		"local part beyond ASCII":        {identity.HandleASCII, "email_invalid", "josé@x.com"},
		"İ under ascii":                  {identity.HandleASCII, "email_invalid", "adm\u0130n@x.com"},
		"İ":                              {identity.HandleUnicode, "email_invalid", "adm\u0130n@x.com"},
		"İ in two":                       {identity.HandleUnicode, "email_invalid", "admI\u0307n@x.com"},
		"KELVIN SIGN":                    {identity.HandleUnicode, "email_invalid", "\u212aelvin@x.com"},
		"GREEK VARIA, NFC of which is `": {identity.HandleUnicode, "email_invalid", "a\u1fef@x.com"},
		"long s":                         {identity.HandleUnicode, "email_invalid", "\u017fam@x.com"},
		"fullwidth":                      {identity.HandleUnicode, "email_invalid", "ａdmin@x.com"},
		"fullwidth @":                    {identity.HandleUnicode, "email_invalid", "a＠y.com@x.com"},
		"ligature":                       {identity.HandleUnicode, "email_invalid", "ﬁona@x.com"},
		"zero-width space":               {identity.HandleUnicode, "email_invalid", "a\u200bé@x.com"},
		"right-to-left override":         {identity.HandleUnicode, "email_invalid", "a\u202eé@x.com"},
		"Hangul filler":                  {identity.HandleUnicode, "email_invalid", "a\u3164@x.com"},
		"no-break space":                 {identity.HandleUnicode, "email_invalid", "a\u00a0b@x.com"},
		"private use":                    {identity.HandleUnicode, "email_invalid", "a\ue000@x.com"},
		"NUL":                            {identity.HandleASCII, "email_invalid", "a\x00@x.com"},
		"NUL in domain":                  {identity.HandleASCII, "email_invalid", "a@x\x00.com"},
		"newline":                        {identity.HandleASCII, "email_invalid", "a@x.com\r\nBcc: b@y.com"},
		"C1 control":                     {identity.HandleUnicode, "email_invalid", "a\u0085é@x.com"},
		"invalid UTF-8":                  {identity.HandleUnicode, "email_invalid", "a\xff@x.com"},
		"encoded surrogate":              {identity.HandleUnicode, "email_invalid", "a\xed\xa0\x80@x.com"},
		"replacement character":          {identity.HandleUnicode, "email_invalid", "a\ufffd@x.com"},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := identity.ParseEmail(tc.policy, tc.s)
			wantRefusal(t, err, tc.code, tc.s)
			if !e.IsZero() {
				t.Errorf("a refused address is not zero: %+v", e)
			}
		})
	}
}

func TestEmail_IsAccepted(t *testing.T) {
	label63 := strings.Repeat("d", 63)
	for _, tc := range []struct {
		policy identity.HandlePolicy
		s      string
	}{
		{identity.HandleASCII, "!#$%&'*+-/=?^_`{|}~@x.com"},
		{identity.HandleASCII, strings.Repeat("a", 64) + "@x.com"},
		{identity.HandleASCII, strings.Repeat("a", 60) + "@" + label63 + "." + label63 + "." + label63 + ".x"}, // 254 octets
		{identity.HandleASCII, "a@x.y.z.example"},
		{identity.HandleASCII, "a@1.2.example"},
		{identity.HandleUnicode, "我買@屋企.香港"},
		{identity.HandleUnicode, "二ノ宮@黒川.日本"},
		{identity.HandleUnicode, "медведь@с-балалайкой.рф"},
		{identity.HandleUnicode, "संपर्क@डाटामेल.भारत"},
		{identity.HandleUnicode, strings.Repeat("é", 32) + "@x.com"},
	} {
		if e := mustEmail(t, tc.policy, tc.s); e.String() != tc.s {
			t.Errorf("%+q is sent to as %+q", tc.s, e.String())
		}
	}
}

func TestRestoreEmail_RunsNoRule(t *testing.T) {
	e := identity.RestoreEmail("Not An Address", "old key")
	if e.String() != "Not An Address" || e.Key() != "old key" {
		t.Errorf("got %q, %q", e.String(), e.Key())
	}
	parsed := mustEmail(t, identity.HandleASCII, "A@bücher.de")
	if identity.RestoreEmail(parsed.String(), parsed.Key()) != parsed {
		t.Error("a restored address differs from the one that was stored")
	}
}

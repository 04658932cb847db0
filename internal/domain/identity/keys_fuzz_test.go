package identity_test

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/domain/identity"
)

func FuzzParseHandle(f *testing.F) {
	for _, s := range []string{
		"", "alice", "Alice.B-7_", ".well-known", "admin", "a@b", "a/b", "\x00", "\xff", "\ufffd",
		"\u212aelvin", "adm\u0130n", "admi\u0307n", "сосо", "coco", "p\u0430ypal", "ΣΑΣ", "σας", "straße", "STRAẞE",
		"ａｌｉｃｅ", "ﾃﾞｰﾀ", "山田たろう", "金한글", "שלום1", "١٢٣", "क्\u200dष", "e\u0301", "x\u0345", "\u1c80", "\u13a0",
		strings.Repeat("a", 65), strings.Repeat("\U00020000", 64),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, policy := range policies {
			if h, ok := checkHandle(t, policy, s); ok {
				for _, spelling := range []string{strings.ToUpper(s), strings.ToLower(s)} {
					other, err := identity.ParseHandle(policy, identity.Reserved{}, spelling)
					if err == nil && isASCII(s) && other.Key() != h.Key() {
						t.Fatalf("%+q and %+q: keys %+q and %+q", s, spelling, h.Key(), other.Key())
					}
				}
			}
		}
	})
}

func FuzzParseEmail(f *testing.F) {
	for _, s := range []string{
		"", "a@b", "a@b.c", "Alice.B+tag@Example.COM", "a@bücher.de", "a@xn--bcher-kva.de", "a@straße.de", "a@STRAẞE.de",
		"a@xn--example-.com", "a@golang.org..", "a..b@x.com", `"a@b"@x.com`, "Name <a@b.com>", "a@[127.0.0.1]", "a@127.0.0.1",
		"a@xn--が-.com", "a@ｘn--が-.com", "adm\u0130n@x.com", "\u212a@x.com", "a\u1fef@x.com", "josé@x.com", "H\u0331@x.com",
		"a＠b@x.com", "a@x。com", "a@exam\u00adple.com", "a@नी\u200dति.भारत", "a@1א.com", "a@אב.com", "\x00@x.com", "\xff@x.com",
		strings.Repeat("a", 65) + "@x.com", "a@" + strings.Repeat("d", 64) + ".com", strings.Repeat("Ⱥ", 30) + "@x.com",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		ascii, isASCIIAddress := checkEmail(t, identity.HandleASCII, s)
		unicode, ok := checkEmail(t, identity.HandleUnicode, s)
		if isASCIIAddress && (!ok || ascii != unicode) {
			t.Fatalf("%+q is %+q under ascii and %+q under unicode", s, ascii.Key(), unicode.Key())
		}
	})
}

func FuzzParseUserCode(f *testing.F) {
	for _, s := range []string{
		"", "WDJB-MJHT", " wdjb mjht ", "WDJB–MJHT", "WDJB\x00MJHT", "WDJB\xffMJHT", "WDJBMJH\u017f", "wdjbmjht\n", strings.Repeat("B", 9),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { checkUserCode(t, s) })
}

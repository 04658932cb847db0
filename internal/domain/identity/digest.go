package identity

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// recordDigests take in the records of one number, in the order of their ids:
// what they are, under which keys, at which revision. Left out are times and
// tokens, which are the import's own and not what was imported; whatever changes
// a record changes its revision.
type recordDigests struct{ accounts, devices hash.Hash }

func (d *recordDigests) account(a *accountRow) {
	name := ""
	if a.DisplayName != nil {
		name = "=" + *a.DisplayName
	}
	d.accounts = digest(d.accounts, a.ID.String(), strconv.FormatInt(a.Revision, 10), string(a.Status),
		a.Handle.String(), a.Handle.Key(), a.Handle.Skeleton(), a.Email.String(), a.Email.Key(), name, string(a.Attributes))
}

func (d *recordDigests) device(device *deviceRow) {
	label, expires := "", ""
	if device.Label != nil {
		label = "=" + *device.Label
	}
	if device.ExpiresAt != nil {
		expires = strconv.FormatInt(device.ExpiresAt.UnixMicro(), 10)
	}
	d.devices = digest(d.devices, device.ID.String(), strconv.FormatInt(device.Revision, 10), string(device.Status),
		device.Account.String(), label, device.Client.String(), strings.Join(device.Scopes, " "), device.UserCode.Key(), expires)
}

// digest takes in the parts of one row, each behind its length, so that no two
// lists of parts are alike.
func digest(h hash.Hash, parts ...string) hash.Hash {
	if h == nil {
		h = sha256.New()
	}
	var row []byte
	for _, part := range parts {
		row = append(binary.AppendUvarint(row, uint64(len(part))), part...)
	}
	h.Write(row)
	return h
}

// sum is the digest of all records: of the numbers' digests in their order, so
// that it doesn't tell which number lives where.
func (i *inspection) sum() [sha256.Size]byte {
	var all []byte
	for n := range domain.Number(domain.Numbers) {
		for _, h := range []hash.Hash{i.digests[n].accounts, i.digests[n].devices} {
			if h == nil {
				h = sha256.New()
			}
			all = slices.Concat(all, h.Sum(nil))
		}
	}
	return sha256.Sum256(all)
}

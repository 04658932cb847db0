package tenancy

// ServerKey is one of the secrets that the processes share by configuration.
type ServerKey struct {
	ID     string
	Secret [32]byte
}

// ServerKeys are the server keys in order: the first is current, the others are
// for what is still kept under them. To rotate, add the new key at the end on
// every process, then move it to the front, and drop the old one when nothing
// is under it.
type ServerKeys struct {
}

// NewServerKeys takes at least one key. Ids are distinct, [a-z0-9-]{1,32}.
func NewServerKeys(keys ...ServerKey) (*ServerKeys, error) { panic("unwritten") }

// ParseServerKeys reads "id:base64 id:base64 …", each secret 32 bytes, the first
// key current. Its errors never hold a secret.
func ParseServerKeys(text string) ([]ServerKey, error) { panic("unwritten") }

package identity

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strconv"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// secretSize is of every secret that a device shows, in octets.
const secretSize = 32

// The texts of secrets are base64url without padding (RFC 4648, section 5), in
// the one spelling that their octets have.
var secretText = base64.RawURLEncoding.Strict()

// deviceCode is what a device polls with: 64 characters, of its id and a secret
// that derives from a server key. Whoever guesses one must guess 256 bits (RFC
// 8628, section 5.2).
type deviceCode struct {
	device domain.DeviceID
	secret [secretSize]byte
}

func (c deviceCode) String() string {
	return secretText.EncodeToString(append(c.device[:], c.secret[:]...))
}

func parseDeviceCode(text string) (c deviceCode, ok bool) {
	octets, ok := parseSecretText(text, len(c.device)+secretSize)
	if !ok {
		return c, false
	}
	return deviceCode{domain.DeviceID(octets[:16]), [secretSize]byte(octets[16:])}, true
}

// refreshToken is 75 characters, of the device's id, the token's generation in
// the device's chain and a secret that derives from a server key.
type refreshToken struct {
	device     domain.DeviceID
	generation int64 // from 1
	secret     [secretSize]byte
}

func (t refreshToken) String() string {
	octets := binary.BigEndian.AppendUint64(t.device[:], uint64(t.generation))
	return secretText.EncodeToString(append(octets, t.secret[:]...))
}

func parseRefreshToken(text string) (t refreshToken, ok bool) {
	octets, ok := parseSecretText(text, len(t.device)+8+secretSize)
	if !ok {
		return t, false
	}
	generation := int64(binary.BigEndian.Uint64(octets[16:24]))
	return refreshToken{domain.DeviceID(octets[:16]), generation, [secretSize]byte(octets[24:])}, generation > 0
}

// parseSecretText refuses line breaks too, which the decoder would skip.
func parseSecretText(text string, size int) ([]byte, bool) {
	if len(text) != secretText.EncodedLen(size) {
		return nil, false
	}
	octets, err := secretText.DecodeString(text)
	return octets, err == nil && len(octets) == size
}

// hashSecret is what is stored of a secret.
func hashSecret(secret []byte) []byte {
	hash := sha256.Sum256(secret)
	return hash[:]
}

// What the secrets derive from: the first part says what for.

func deviceCodeParts(tenant domain.TenantID, device domain.DeviceID) []string {
	return []string{"device-code", tenant.String(), device.String()}
}

func refreshParts(tenant domain.TenantID, device domain.DeviceID, generation int64) []string {
	return []string{"refresh-token", tenant.String(), device.String(), strconv.FormatInt(generation, 10)}
}

// deriveUserCode makes the code of a creation's nth attempt. Nobody without the
// server key can tell it from the device's id, which others may know.
func (s *Service) deriveUserCode(tenant domain.TenantID, device domain.DeviceID, attempt int) UserCode {
	secret, _ := s.secrets.Derive("user-code", tenant.String(), device.String(), strconv.Itoa(attempt))
	return NewUserCode([secretSize]byte(secret))
}

package postgres

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
)

// scramIterations is PostgreSQL's own default.
const scramIterations = 4096

// scramVerifier is what the server keeps of a password (RFC 5803, as
// PostgreSQL spells it): "SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>".
// ALTER ROLE takes no parameters, and its text may be logged by the server; a
// verifier holds nothing that needs quoting and nothing that is secret enough
// to log in with. The password is printable ASCII, on which SASLprep changes
// nothing.
func scramVerifier(password string) (string, error) {
	salt := make([]byte, 16)
	rand.Read(salt)
	return scramVerifierWith(password, salt, scramIterations)
}

func scramVerifierWith(password string, salt []byte, iterations int) (string, error) {
	salted, err := pbkdf2.Key(sha256.New, password, salt, iterations, sha256.Size)
	if err != nil {
		return "", fmt.Errorf("derive the verifier of a password: %w", err)
	}
	sign := func(text string) []byte {
		mac := hmac.New(sha256.New, salted)
		mac.Write([]byte(text))
		return mac.Sum(nil)
	}
	stored := sha256.Sum256(sign("Client Key"))
	encode := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("SCRAM-SHA-256$%d:%s$%s:%s",
		iterations, encode(salt), encode(stored[:]), encode(sign("Server Key"))), nil
}

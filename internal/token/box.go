package token

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"strings"
	"time"
)

func gcm(key [32]byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// SealText returns a random nonce and the text under AES-256-GCM. It opens only with the same
// about, which is not included and may be nil.
func SealText(key [32]byte, text, about []byte) ([]byte, error) {
	box, err := gcm(key)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, box.NonceSize(), box.NonceSize()+len(text)+box.Overhead())
	rand.Read(nonce) // never fails: the runtime ends the process instead
	return box.Seal(nonce, nonce, text, about), nil
}

// OpenText is the inverse of [SealText]. Errors: a changed text, or another key or about.
func OpenText(key [32]byte, sealed, about []byte) ([]byte, error) {
	box, err := gcm(key)
	if err != nil {
		return nil, err
	}
	if len(sealed) < box.NonceSize() {
		return nil, errors.New("a sealed text is cut short")
	}
	return box.Open(nil, sealed[:box.NonceSize()], sealed[box.NonceSize():], about)
}

const factorUse = "second-factor/v1"

// SealSecret seals the secret of a second factor with the first key; about names its account. The
// id of the key precedes it.
func (s *Sessions) SealSecret(secret, about []byte) ([]byte, error) {
	key := &s.keys[0]
	derived, err := key.derive(factorUse)
	if err != nil {
		return nil, err
	}
	sealed, err := SealText([32]byte(derived), secret, about)
	return append([]byte(key.ID+":"), sealed...), err
}

// OpenSecret is the inverse of [Sessions.SealSecret]. Errors: ErrUnknownKey when no key of the list
// sealed it, ErrKeyExpired.
func (s *Sessions) OpenSecret(sealed, about []byte, now time.Time) ([]byte, error) {
	id, text, _ := strings.Cut(string(sealed), ":")
	if _, err := s.find(id, now); err != nil {
		return nil, err
	}
	for i := range s.keys {
		if s.keys[i].ID == id {
			derived, err := s.keys[i].derive(factorUse)
			if err != nil {
				return nil, err
			}
			return OpenText([32]byte(derived), []byte(text), about)
		}
	}
	return nil, ErrUnknownKey
}

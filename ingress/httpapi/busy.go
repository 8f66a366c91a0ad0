package httpapi

import (
	"sync/atomic"

	"adnet/internal/account"
)

// busyKeys repeats cached keys that have many requests. The cache has one lock for all of them,
// which every request would wait for (benchmark row ad_request_100k). A key has one place by its
// hash, and keeps it for as long as its answer counts, so few requests change a place.
type busyKeys [256]atomic.Pointer[busyKey]

// busyKey is a key with its entry in the cache.
type busyKey struct {
	entry[account.Key]
	hash [32]byte
}

func (b *busyKeys) of(hash [32]byte) *atomic.Pointer[busyKey] { return &b[hash[0]] }

// keep repeats the cached key with a hash if it is valid, unless another one has its place.
func (b *busyKeys) keep(a *Auth, hash [32]byte) {
	place, now := b.of(hash), a.deps.Now()
	other := place.Load()
	if other != nil && other.hash != hash && other.believed(now) {
		return
	}
	cached, ok := a.keys.Peek(hash)
	if !ok || cached.err != nil || !cached.believed(now) {
		return
	}
	kept := &busyKey{cached, hash}
	if !place.CompareAndSwap(other, kept) {
		return
	}
	// [Auth.ForgetKeys] removes a key here after it did so in the cache.
	if again, ok := a.keys.Peek(hash); !ok || !again.at.Equal(cached.at) {
		place.CompareAndSwap(kept, nil)
	}
}

// forget removes the keys of an account and its seats.
func (b *busyKeys) forget(of account.User) {
	for i := range b {
		if kept := b[i].Load(); kept != nil && of.Publishes(kept.value.DeveloperID) {
			b[i].CompareAndSwap(kept, nil)
		}
	}
}

package catalog

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/ledger/reserve"
	"adnet/internal/money"
)

// campaignTable holds the campaigns that this node knows, in any state, besides the auction's
// snapshot. Its layout is for a million campaigns (benchmark rows memory_100k and memory_1m): few
// pointers, no duplicates, and only the fields that serving reads. It is safe for concurrent use.
type campaignTable struct {
	mu        sync.RWMutex
	slots     map[uuid.UUID]uint32
	creatives []packed            // by slot; empty if only the room is known
	rooms     []room              // by slot
	names     map[uuid.UUID]named // by advertiser; nil if no campaign has one
	recent    [1 << 12]atomic.Pointer[recent]
}

// named is the name of an advertiser in its ads, from its newest campaign.
type named struct {
	version int64 // config version of that campaign
	account.Sponsor
}

// recent is a recently requested campaign. Most ads and events are of few campaigns, and an
// unpacked campaign is nearly a kilobyte, which would be most of a request's garbage (benchmark row
// ad_request_100k).
type recent struct {
	from packed
	of   *campaign.Campaign
}

// room has the fields of a reserve.Room that a node uses.
type room struct {
	version                     int64
	daily, today, total, credit money.Micros
	day                         day.Day
	open                        uint32 // and 1; 0 of an unknown room
}

func newCampaignTable() *campaignTable { return &campaignTable{slots: map[uuid.UUID]uint32{}} }

// slot returns the index of a campaign, and adds one if needed. The lock is held.
func (t *campaignTable) slot(id uuid.UUID) uint32 {
	slot, ok := t.slots[id]
	if !ok {
		slot = uint32(len(t.creatives))
		t.slots[id] = slot
		t.creatives, t.rooms = append(t.creatives, ""), append(t.rooms, room{})
	}
	return slot
}

// creative returns the stored fields of a campaign. The result is shared.
func (t *campaignTable) creative(id uuid.UUID) (*campaign.Campaign, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	slot, ok := t.slots[id]
	if !ok || t.creatives[slot] == "" {
		return nil, false
	}
	found, place := t.creatives[slot], &t.recent[binary.LittleEndian.Uint16(id[14:])%uint16(len(t.recent))]
	if known := place.Load(); known != nil && known.of.ID == id && known.from == found &&
		known.of.Advertiser == t.names[known.of.AdvertiserID].Sponsor {
		return known.of, true
	}
	unpacked := &recent{found, found.campaign(id)}
	unpacked.of.Advertiser = t.names[unpacked.of.AdvertiserID].Sponsor
	place.Store(unpacked)
	return unpacked.of, true
}

// name stores the name of c's advertiser, unless the stored one is from a newer campaign. The lock
// is held.
func (t *campaignTable) name(c *campaign.Campaign) {
	known, ok := t.names[c.AdvertiserID]
	if !ok && c.Advertiser.Name == "" || known.version > c.ConfigVersion {
		return
	}
	known.version = c.ConfigVersion
	if known.Sponsor != c.Advertiser {
		known.Sponsor = c.Advertiser
		known.Name = strings.Clone(c.Advertiser.Name) // the original is a part of c's whole text
	}
	if t.names == nil {
		t.names = map[uuid.UUID]named{}
	}
	t.names[c.AdvertiserID] = known
}

// len returns the number of known campaigns.
func (t *campaignTable) len() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.slots)
}

// packed returns a packed campaign; empty if at most its room is known.
func (t *campaignTable) packed(id uuid.UUID) packed {
	t.mu.RLock()
	defer t.mu.RUnlock()
	slot, ok := t.slots[id]
	if !ok {
		return ""
	}
	return t.creatives[slot]
}

// put stores the campaigns that are newer than the known ones, and returns them.
func (t *campaignTable) put(list []campaign.Campaign) (newer []*campaign.Campaign) {
	packedBytes, ends := packAll(list)
	newer = make([]*campaign.Campaign, 0, len(list))
	begin := 0
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, end := range ends {
		next, slot := packedBytes[begin:end], t.slot(list[i].ID)
		if known := t.creatives[slot]; known == "" || known.version() < list[i].ConfigVersion {
			t.creatives[slot] = next
			t.name(&list[i])
			newer = append(newer, &list[i])
		}
		begin = end
	}
	return newer
}

// room returns the remaining budget of a campaign.
func (t *campaignTable) room(id uuid.UUID) (reserve.Room, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	slot, ok := t.slots[id]
	if !ok || t.rooms[slot].open == 0 {
		return reserve.Room{}, false
	}
	return t.rooms[slot].ledger(id), true
}

func (r *room) ledger(id uuid.UUID) reserve.Room {
	return reserve.Room{
		CampaignID: id, Version: r.version, Day: r.day, Daily: r.daily, Today: r.today, Total: r.total,
		Balance: r.credit, Open: money.Micros(r.open - 1),
	}
}

// putRooms stores the rooms that are at least as new as the known ones.
func (t *campaignTable) putRooms(list []reserve.Room) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range list {
		r := &list[i]
		at := &t.rooms[t.slot(r.CampaignID)]
		if at.open == 0 || r.Version >= at.version {
			*at = room{
				version: r.Version, daily: r.Daily, today: r.Today, total: r.Total, credit: r.Balance, day: r.Day,
				open: uint32(min(max(0, r.Open), math.MaxUint32-1)) + 1,
			}
		}
	}
}

// fit frees the unused capacity of the lists.
func (t *campaignTable) fit() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.creatives, t.rooms = slices.Clone(t.creatives), slices.Clone(t.rooms)
}

package redis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"adnet/internal/day"
	"adnet/internal/jsonscan"
	"adnet/internal/ledger/reserve"
	"adnet/internal/money"
	"adnet/internal/token"
)

// roomChunk is the number of rooms per script call, each of which may be a sum over an hour's
// minutes.
const roomChunk = 100

// Rooms is the projection of campaigns' remaining budgets. Its methods may be called from any
// goroutine.
type Rooms struct{ client *Client }

// NewRooms returns a view of the rooms. It does no I/O.
func NewRooms(client *Client) *Rooms { return &Rooms{client} }

// room is the stored form of a reserve.Room, with the epoch in which it was published. Amounts are
// plain micro-USD: the balance of a campaign that is not prepaid is the largest integer, which the
// decimal form of money rejects. The text ends with its seal ([Client.Trusting]). The epoch comes
// first, so that a sealed campaign is no room.
type room struct {
	Epoch      int64     `json:"epoch"`
	CampaignID uuid.UUID `json:"id"`
	Advertiser uuid.UUID `json:"adv"`
	Version    int64     `json:"v"`
	Day        int32     `json:"day"`
	Daily      int64     `json:"daily"`
	Today      int64     `json:"today"`
	Total      int64     `json:"total"`
	Balance    int64     `json:"balance"`
	Open       int64     `json:"open"`
}

func roomOf(epoch int64, r reserve.Room) room {
	return room{
		Epoch: epoch, CampaignID: r.CampaignID, Advertiser: r.AdvertiserID, Version: r.Version, Day: int32(r.Day),
		Daily: int64(r.Daily), Today: int64(r.Today), Total: int64(r.Total), Balance: int64(r.Balance),
		Open: int64(r.Open),
	}
}

func (r room) ledger() reserve.Room {
	return reserve.Room{
		CampaignID: r.CampaignID, AdvertiserID: r.Advertiser, Version: r.Version, Day: day.Day(r.Day),
		Daily: money.Micros(r.Daily), Today: money.Micros(r.Today), Total: money.Micros(r.Total),
		Balance: money.Micros(r.Balance), Open: money.Micros(r.Open),
	}
}

// PublishRooms writes absolute values, sealed with their version and epoch, never an older version
// over a newer one, and sends the accepted ones to every subscriber. What holds the place of a newer
// version and is not sealed is replaced. Released amounts go to the reservations of epoch. Versions
// must not be negative. Errors: Redis does not answer, or by its clock the rooms are of a past day.
// In the latter case nothing is written until the clock of the rooms' source agrees again, and
// nodes grant from the rooms they have.
func (r *Rooms) PublishRooms(ctx context.Context, epoch int64, rooms []reserve.Room) error {
	for len(rooms) > 0 {
		chunk := rooms[:min(roomChunk, len(rooms))]
		rooms = rooms[len(chunk):]
		newer, err := r.publish(ctx, epoch, chunk)
		if err != nil {
			return err
		}
		forged, err := r.dropForged(ctx, newer)
		if err != nil {
			return err
		}
		if forged {
			if _, err := r.publish(ctx, epoch, chunk); err != nil {
				return err
			}
		}
	}
	return nil
}

// pastDay is the reply to rooms of a past day.
const pastDay = "past"

// publish writes one chunk and lists the campaigns of which there is a newer room.
func (r *Rooms) publish(ctx context.Context, epoch int64, chunk []reserve.Room) (newer []string, err error) {
	keys, args, err := r.publishArgs(epoch, chunk)
	if err != nil {
		return nil, err
	}
	newer, err = roomsScript.Run(ctx, r.client.rdb, keys, args...).StringSlice()
	if err != nil {
		return nil, r.client.explain(err)
	}
	if len(newer) > 0 && newer[0] == pastDay {
		return nil, fmt.Errorf(
			"rooms of %s are of a past day by the clock of Redis: the database's clock is behind it", oldest(chunk),
		)
	}
	return newer, nil
}

// dropForged removes the rooms of ids that this installation did not seal: otherwise an invented
// version would keep the true ones out for ever.
func (r *Rooms) dropForged(ctx context.Context, ids []string) (forged bool, err error) {
	if len(ids) == 0 || r.client.trust.Seal == nil {
		return false, nil
	}
	values, err := r.client.rdb.HMGet(ctx, r.client.keys.rooms, ids...).Result()
	if err != nil {
		return false, r.client.explain(err)
	}
	for i, value := range values {
		text, found := value.(string)
		if !found {
			continue
		}
		if _, reason := r.client.storedRoom(ids[i], text); reason != nil && !errors.Is(reason, errOldRoom) {
			r.client.refused(ids[i], reason)
			err := dropScript.Run(ctx, r.client.rdb, []string{r.client.keys.rooms}, ids[i], text).Err()
			if err != nil {
				return false, r.client.explain(err)
			}
			forged = true
		}
	}
	return forged, nil
}

func oldest(rooms []reserve.Room) day.Day {
	first := rooms[0].Day
	for i := range rooms {
		first = min(first, rooms[i].Day)
	}
	return first
}

func (r *Rooms) publishArgs(epoch int64, rooms []reserve.Room) (keys []string, args []any, err error) {
	names := r.client.keys.reserved(epoch)
	keys = append(make([]string, 0, 2+2*len(rooms)), r.client.keys.rooms, r.client.keys.reservations)
	args = append(make([]any, 0, 5+5*len(rooms)), reservationArgs[:]...)
	args = append(args, r.client.keys.changes, int64(oldest(rooms)))
	for i := range rooms {
		room := &rooms[i]
		if room.Version < 0 {
			return nil, nil, fmt.Errorf("room of campaign %s has version %d", room.CampaignID, room.Version)
		}
		text, err := json.Marshal(roomOf(epoch, *room))
		if err != nil {
			return nil, nil, fmt.Errorf("encode room of campaign %s: %w", room.CampaignID, err)
		}
		text = r.client.sealed(text)
		limited := 0
		if room.Balance != reserve.Unlimited {
			limited = 1
		}
		id := room.CampaignID.String()
		keys = append(keys, names.campaign(id), names.advertiser(room.AdvertiserID.String()))
		args = append(args, id, room.Version, text, limited, len(room.Released))
		for _, released := range room.Released {
			args = append(args, int64(released.Minute), int64(released.Amount))
		}
	}
	return keys, args, nil
}

// All loads every room, in no order.
func (r *Rooms) All(ctx context.Context) ([]reserve.Room, error) {
	found := make(map[uuid.UUID]reserve.Room)
	err := r.EachRoom(ctx, func(page []reserve.Room) {
		for _, loaded := range page {
			found[loaded.CampaignID] = loaded // a scan may return a room twice
		}
	})
	return slices.Collect(maps.Values(found)), err
}

// EachRoom reads every room, in no order, and passes them to take in pages, each of which is reused
// when take returns. A room may appear twice. Rejected ones are left out.
func (r *Rooms) EachRoom(ctx context.Context, take func(page []reserve.Room)) error {
	var page []reserve.Room
	for cursor := uint64(0); ; {
		pairs, next, err := r.client.rdb.HScan(ctx, r.client.keys.rooms, cursor, "", readChunk).Result()
		if err != nil {
			return r.client.explain(err)
		}
		page = page[:0]
		for i := 0; i+1 < len(pairs); i += 2 {
			room, err := r.client.storedRoom(pairs[i], pairs[i+1])
			switch {
			case err == nil:
				page = append(page, room.ledger())
			case r.client.trust.Seal == nil:
				return fmt.Errorf("decode room of campaign %s: %w", pairs[i], err)
			case !errors.Is(err, errOldRoom):
				r.client.refused(pairs[i], err)
			}
		}
		take(page)
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// errOldRoom rejects a room of an earlier epoch than others that were read.
var errOldRoom = errors.New("the room is of an earlier epoch")

// storedRoom reads the room stored under id. Errors: it is not a room, or not a sealed one of this
// campaign, of its version and of the latest known epoch.
func (c *Client) storedRoom(id, stored string) (room, error) {
	version, text, _ := strings.Cut(stored, "|")
	r, err := c.openRoom(text)
	if err == nil && c.trust.Seal != nil && (r.CampaignID.String() != id || strconv.FormatInt(r.Version, 10) != version) {
		err = token.ErrSignature
	}
	return r, err
}

// openRoom reads a room and checks its seal.
func (c *Client) openRoom(text string) (r room, err error) {
	if c.trust.Seal == nil {
		return readRoom(text)
	}
	if !strings.HasPrefix(text, `{"epoch":`) {
		return r, token.ErrMalformed
	}
	if err := c.checkSeal(text); err != nil {
		return r, err
	}
	if r, err = readRoom(text); err != nil {
		return r, err
	}
	for {
		latest := c.epoch.Load()
		if r.Epoch < latest {
			return r, errOldRoom
		}
		if c.epoch.CompareAndSwap(latest, r.Epoch) {
			return r, nil
		}
	}
}

// readRoom reads text written by this build without the general decoder, which reads all other text
// (benchmark row start).
func readRoom(text string) (r room, err error) {
	if r, ok := readOwnRoom(text); ok {
		return r, nil
	}
	err = json.Unmarshal([]byte(text), &r)
	return r, err
}

// readOwnRoom reads the fields in the order of [room].
func readOwnRoom(text string) (r room, ok bool) {
	in := jsonscan.Read(text)
	fields := in.Members()
	r.Epoch = fields.Value("epoch").Whole()
	r.CampaignID = jsonscan.Parsed(&in, fields.Value("id").Text(), uuid.Parse)
	r.Advertiser = jsonscan.Parsed(&in, fields.Value("adv").Text(), uuid.Parse)
	r.Version = fields.Value("v").Whole()
	date := fields.Value("day").Whole()
	r.Daily = fields.Value("daily").Whole()
	r.Today = fields.Value("today").Whole()
	r.Total = fields.Value("total").Whole()
	r.Balance = fields.Value("balance").Whole()
	r.Open = fields.Value("open").Whole()
	if fields.Next("seal") {
		in.Skip()
	}
	fields.End()
	r.Day = int32(date)
	return r, in.Done() && int64(r.Day) == date
}

package auditlog_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/compliance/auditlog"
)

func TestOwnersDoNotReadWhoDecided(t *testing.T) {
	owner, admin := uuid.New(), uuid.New()
	review := map[string]any{"decision": "rejected", "reviewer_id": admin.String()}
	e := auditlog.Entry{
		Seq: 7, OwnerID: owner,
		Actor: auditlog.Actor{
			AccountID: admin, Role: "admin", Name: "ada", Via: auditlog.API, Network: "192.0.2.0/24",
			Action: "POST /api/campaigns?action=review", RequestID: "r1",
		},
		Changes: map[string]auditlog.Change{
			"review": {After: review}, "by": {After: admin.String()}, "reason": {After: "a scam"},
		},
	}
	got := e.ForOwner(owner)
	require.Equal(t, auditlog.Actor{Role: "admin", Via: auditlog.API, Action: e.Actor.Action}, got.Actor)
	require.Equal(t, map[string]auditlog.Change{
		"review": {After: map[string]any{"decision": "rejected"}}, "reason": {After: "a scam"},
	}, got.Changes)
	require.Equal(t, admin.String(), review["reviewer_id"], "the entry stays unchanged")
	require.Len(t, e.Changes, 3)

	command := auditlog.Entry{Actor: auditlog.Actor{Via: auditlog.CLI, Name: "root", Action: "user disable"}}
	require.Equal(t, auditlog.Actor{Via: auditlog.CLI, Action: "user disable"}, command.ForOwner(owner).Actor)
	for _, own := range []auditlog.Actor{
		{AccountID: owner, Role: "advertiser", Via: auditlog.API, Network: "192.0.2.0/24", RequestID: "r2"},
		{Via: auditlog.API, Network: "192.0.2.0/24"}, // a mailed link: the owner sees from where
		{Via: auditlog.System},
	} {
		require.Equal(t, own, auditlog.Entry{Actor: own}.ForOwner(owner).Actor)
	}
}

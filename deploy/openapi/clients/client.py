"""Real calls with the client that openapi-python-client generates from openapi.json."""

import os
import time
import uuid

from adnet_client import AuthenticatedClient, Client
from adnet_client.api.accounts import create_key, login, register
from adnet_client.api.billing import get_balance
from adnet_client.api.campaigns import create_campaign, list_own_campaigns, pause_campaign, resume_campaign
from adnet_client.api.serving import ad_request
from adnet_client.api.stats import stats
from adnet_client.api.tracking import track_batch, track_event
from adnet_client.models import (
    Ad,
    AdReply,
    AdRequestOfContext,
    Balance,
    CampaignFieldsBillingModel,
    CampaignChanged,
    CampaignCreate,
    CampaignCreated,
    CampaignList,
    Credentials,
    Error,
    EventType,
    Format,
    KeyCreate,
    KeyKind,
    NewKey,
    Named,
    Login,
    StatsType,
    TrackBatch,
    TrackBatchReply,
    TrackEvent,
    TrackReply,
)

base = os.environ["ADNET_BASE_URL"]
stamp = time.time_ns()
word = f"balloon{stamp}"
who = Credentials(email=f"py-{stamp}@example.com", password="kittens climb old trees")
anyone = Client(base_url=base)
assert isinstance(register.sync(client=anyone, body=who), Login)
session = login.sync(client=anyone, body=who)
assert isinstance(session, Login), session
me = AuthenticatedClient(base_url=base, token=session.session.access_token)

created = create_campaign.sync(
    client=me,
    body=CampaignCreate(
        advertiser_id=session.user.id,
        headline=f"Rides in a {word}",
        cta_url="https://rides.example/",
        billing_model=CampaignFieldsBillingModel.CPM,
        bid_amount=900,
        target_intent_tokens=[word],
    ),
)
assert isinstance(created, CampaignCreated), created
assert created.auto_approved and created.campaign.format_ == Format.NATIVE
id = created.campaign.id

key = create_key.sync(client=me, body=KeyCreate(kind=KeyKind.PUBLISHER, name="py"))
assert isinstance(key, NewKey), key
publisher = AuthenticatedClient(base_url=base, token=key.key)
served = ad_request.sync(client=publisher, body=AdRequestOfContext(context=f"Where can I ride a {word}?"))
assert isinstance(served, AdReply) and isinstance(served.ad, Ad), served
assert served.ad.ad_id == id

event = TrackEvent(event=EventType.IMPRESSION, campaign_id=id, auction_id=served.ad.auction_id)
first = track_event.sync(client=publisher, body=event)
assert isinstance(first, TrackReply) and not first.deduped, first
batch = track_batch.sync(client=publisher, body=TrackBatch(events=[event]))
assert isinstance(batch, TrackBatchReply) and batch.deduped, batch

paused = pause_campaign.sync(client=me, body=Named(id=id))
assert isinstance(paused, CampaignChanged) and paused.campaign.status == "paused", paused
assert isinstance(resume_campaign.sync(client=me, body=Named(id=id)), CampaignChanged)
listed = list_own_campaigns.sync(client=me, limit=5)
assert isinstance(listed, CampaignList) and listed.campaigns[0].id == id, listed
assert isinstance(get_balance.sync(client=me), Balance)
numbers = stats.sync(client=publisher, type_=StatsType.DEVELOPER)
assert numbers is not None and not isinstance(numbers, Error), numbers
refused = pause_campaign.sync(client=me, body=Named(id=uuid.UUID(int=0)))
assert isinstance(refused, Error), refused
print("python: ok")

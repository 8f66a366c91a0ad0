// Signs the payload on standard input with the secret in the first argument, at the time (Unix seconds) in the second,
// and writes the header.
import { readFileSync } from "node:fs";
import Stripe from "stripe";

const [secret, timestamp] = process.argv.slice(2);
const payload = readFileSync(0, "utf8");
const stripe = new Stripe("sk_test_unused");
process.stdout.write(stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp: Number(timestamp) }));

import { signal } from '@preact/signals';
import { api, need } from '../shared/api';

/** How much waits for administrators, by the path of its screen. */
export const waiting = signal<Record<string, number>>({});

/** Reads the numbers anew. A failure leaves the former ones: the screens show their own errors. */
export async function countWaiting() {
  try {
    const { review, reports, appeals } = await need(api.GET('/api/admin/waiting'));
    waiting.value = { review, reports, appeals };
  } catch {
    // the next screen reads them again
  }
}

import { formatMs } from '../clock.ts';
import type { Work } from '../db/work.ts';
import type { Letter } from '../mail/letter.ts';
import { writeToMembers } from '../users/letters.ts';
import { disableAfterMs } from './health.ts';
import type { Untold } from './notices.ts';
import { takeUntold } from './notices.ts';

/** A notice that is older than this when a mail server is first set is no news any more. */
const newsMs = 24 * 3600_000;

const at = (date: Date) => `${formatMs(date.getTime()).slice(0, 16).replace('T', ' ')} UTC`;

/** Nothing of the endpoint's address: mail programs make links of hosts, and letters lead to our pages only. */
function letterOf(notice: Untold, organisation: string, base: `/${string}`): Letter {
  const since = notice.since === null ? '' : ` since ${at(notice.since)}`;
  const way = { to: `${base}/webhooks/${notice.endpoint_id}`, label: 'Which endpoint it is' } as const;
  const subjects: Record<Untold['kind'], string> = {
    failing: `A webhook endpoint of ${organisation} has started failing`,
    recovered: `A webhook endpoint of ${organisation} has recovered`,
    disabled: `A webhook endpoint of ${organisation} was disabled`,
  };
  const subject = subjects[notice.kind];
  if (notice.kind === 'recovered')
    return { subject, says: [`The endpoint answers again, after every delivery had failed${since}.`, way] };
  if (notice.kind === 'disabled')
    return {
      subject,
      says: [
        `Nothing is sent to the endpoint any more: every delivery${since} has failed, or it answered that it is gone.`,
        'Events are kept, and can be sent once the endpoint is resumed.',
        way,
      ],
    };
  const end = notice.since === null ? null : at(new Date(notice.since.getTime() + disableAfterMs));
  return {
    subject,
    says: [
      `Every delivery to the endpoint has failed${since}. Deliveries are tried again, and nothing is lost.`,
      ...(end === null
        ? []
        : [`If nothing succeeds before, the endpoint is disabled at the first failure after ${end}.`]),
      way,
    ],
  };
}

/** Writes of each new notice once to those who look after the organisation's integration. */
export async function writeOfEndpoints(work: Work): Promise<void> {
  for (const notice of await takeUntold(work, work.nowMs - newsMs))
    await writeToMembers(
      work,
      notice.organisation_id,
      ['owner', 'admin', 'developer'],
      `endpoint_${notice.kind} ${notice.notice_id}`,
      (organisation, base) => letterOf(notice, organisation, base),
    );
}

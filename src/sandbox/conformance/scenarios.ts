import { formatMs } from '../../platform/time/clock.ts';
import { unknownEventBody } from '../chaos/unknown.ts';
import type { Forwarder } from './forward.ts';
import { sampleEvent } from './samples.ts';
import { ownWrites } from './own-writes.ts';
import { type Differences, faultsOf, type Found, isSame, NotPlayed, type Trial } from './trial.ts';
import { assessmentCompleted } from '../../platform/validation/event-types.ts';

export type Scenario = {
  name: string;
  summary: string;
  play(trial: Trial, forwarder: Forwarder | null): Promise<Found[]>;
};

const all = (fault: string, sentence: string): Partial<Record<keyof Differences, [string, string]>> => ({
  lost: [fault, sentence],
  kept: [fault, sentence],
  outdated: [fault, sentence],
  ahead: [fault, sentence],
});

/** Makes a new result, because some consumers read the feed only after an event. */
async function marked(trial: Trial): Promise<void> {
  await trial.stage.completes();
}

function refused(trial: Trial, before: number): Found[] {
  const bad = trial.stage.delivered.slice(before).filter(({ forwarded }) => forwarded.error !== null);
  if (bad.length === 0) return [];
  const [first] = bad;
  return [
    {
      fault: 'refused-event',
      sentence: `It did not answer a genuine event with 2xx: ${first!.forwarded.error}.`,
      ids: [],
    },
  ];
}

async function firstWalk(trial: Trial): Promise<Found[]> {
  if (!(await trial.until(() => trial.front.requests > 0))) {
    const why = trial.runner?.hasEnded() === true ? 'It ended before it' : 'It has not';
    return [{ fault: 'silent', sentence: `${why} asked the service for anything.`, ids: [] }];
  }
  const differences = await trial.settles();
  const pages = `its longest walk had ${trial.front.pages} ${trial.front.pages === 1 ? 'page' : 'pages'}`;
  return faultsOf(differences, {
    lost: ['lost', `It lost results of its first walk: follow pagination.next to the end (${pages})`],
  });
}

async function changes(trial: Trial): Promise<Found[]> {
  const { stage } = trial;
  const before = stage.delivered.length;
  await stage.amends(stage.ids[3]!);
  await stage.renamesLearner(5);
  await marked(trial);
  const differences = await trial.settles();
  return [...faultsOf(differences), ...refused(trial, before)];
}

async function nullValues(trial: Trial): Promise<Found[]> {
  await trial.stage.completes(1, { isNameless: true });
  await trial.stage.completes(1, { isPlaced: false });
  await marked(trial);
  return faultsOf(await trial.settles(), {
    lost: [
      'null-values',
      'It skipped results with nulls. Store results of learners without a reference, and results without a level',
    ],
  });
}

async function emptyPage(trial: Trial): Promise<Found[]> {
  const { front, stage } = trial;
  await front.whilePaused(async () => {
    front.beginsEmpty = true;
    await stage.amends(stage.ids[50]!);
    await stage.withdraws(stage.ids[51]!);
    await marked(trial);
  });
  const differences = await trial.settles();
  front.beginsEmpty = false;
  return faultsOf(
    differences,
    all(
      'empty-page',
      'It took a page without records for the end of the walk: follow pagination.next until it is null',
    ),
  );
}

const quietPolls = 3;

async function quietDays(trial: Trial): Promise<Found[]> {
  const { front } = trial;
  const beganMs = trial.nowMs();
  const found: Found[] = [];
  for (let poll = 0; poll < quietPolls; poll++) {
    await marked(trial);
    found.push(...faultsOf(await trial.settles(1)));
  }
  const walks = front.walksSince(beganMs);
  // The consumer may have a reason for one full sync, but not for each sync.
  if (walks.length < 2 || !walks.every((walk) => walk.isWhole)) return found;
  return [
    {
      fault: 'reads-everything',
      sentence: `Each of its ${walks.length} syncs was a full sync. Send the X-Sync-Through of the last sync as since, and its ETag as If-None-Match.`,
      ids: [],
    },
    ...found,
  ];
}

/** Finds a consumer that has given up: it sent no request after a response that allows a retry. */
function gaveUp(trial: Trial, differences: Differences, after: number, reply: string): Found[] | null {
  if (isSame(differences) || trial.front.requests > after) return null;
  const sentence = `It has sent no request since it got ${reply}. Retry, and wait for Retry-After if there is one.`;
  return [{ fault: 'gave-up', sentence, ids: [] }];
}

async function withdrawn(trial: Trial): Promise<Found[]> {
  await trial.stage.withdraws(trial.stage.ids[10]!);
  await marked(trial);
  return faultsOf(await trial.settles(), {
    kept: ['kept-withdrawn', 'It kept a withdrawn result. Remove a result whose status is deleted'],
  });
}

async function scopeExit(trial: Trial): Promise<Found[]> {
  if (!/(^|&)group_id=/.test(trial.front.filters ?? ''))
    throw new NotPlayed('it follows no group. Send group_id with the ID in GROUP_ID');
  await trial.stage.leaves(11);
  await marked(trial);
  return faultsOf(await trial.settles(), {
    kept: [
      'scope-exit',
      "It kept results of a learner who left the group: a record with removed takes them out of the group's view",
    ],
  });
}

const refusalSeconds = 2;
/** A request this soon after a refusal may have left before the refusal arrived, so it does not count as early. */
const onTheirWayMs = 150;

async function retryAfter(trial: Trial): Promise<Found[]> {
  const { front } = trial;
  let refusedMs: number | null = null;
  let requests = 0;
  let earlyMs: number | null = null;
  front.trouble = () => {
    const nowMs = trial.nowMs();
    if (refusedMs === null) {
      refusedMs = nowMs;
      requests = front.requests;
      return { kind: 'rate-limited', seconds: refusalSeconds };
    }
    const sinceMs = nowMs - refusedMs;
    // The limit is 50 ms shorter, because the consumer's timer may fire a little early.
    if (sinceMs > onTheirWayMs && sinceMs < refusalSeconds * 1000 - 50) earlyMs ??= sinceMs;
    return null;
  };
  await marked(trial);
  await trial.until(() => refusedMs !== null);
  await trial.until(() => refusedMs === null || trial.nowMs() - refusedMs > refusalSeconds * 1000);
  front.trouble = null;
  const differences = await trial.settles();
  const silent = gaveUp(trial, differences, requests, '429');
  if (silent !== null) return silent;
  const early: Found[] =
    earlyMs === null
      ? []
      : [
          {
            fault: 'ignored-retry-after',
            sentence: `It sent a request ${Math.round(earlyMs)} ms after a 429 whose Retry-After was ${refusalSeconds} seconds.`,
            ids: [],
          },
        ];
  return [...early, ...faultsOf(differences)];
}

const replies = {
  cut: 'half an answer',
  unavailable: '503',
  lost: 'no answer, and the end of its connection',
  reset: 'no answer, and the end of its connection',
  slow: 'a slow answer',
};

async function interrupted(trial: Trial): Promise<Found[]> {
  const { front, stage } = trial;
  const troubles = [
    { kind: 'cut' },
    { kind: 'unavailable', seconds: 1 },
    { kind: 'lost' },
    { kind: 'reset' },
    { kind: 'slow', ms: 200 },
  ] as const;
  let met = 0;
  let requests = 0;
  await front.whilePaused(async () => {
    await stage.amends(stage.ids[20]!);
    await stage.withdraws(stage.ids[21]!);
    await marked(trial);
    front.trouble = (page) => {
      if (page === null || met >= troubles.length) return null;
      requests = front.requests;
      return troubles[met++]!;
    };
  });
  const hasMetAll = await trial.until(() => met >= troubles.length);
  front.trouble = null;
  const differences = hasMetAll ? await trial.settles() : await trial.differences();
  const silent = gaveUp(trial, differences, requests, replies[troubles[Math.max(0, met - 1)]!.kind]);
  if (silent !== null) return silent;
  return faultsOf(
    differences,
    all(
      'interrupted',
      'Its local copy differs after responses that were cut, lost or refused. Use complete responses only',
    ),
  );
}

const maxResets = 3;

async function brokenWalk(trial: Trial): Promise<Found[]> {
  const { front, stage } = trial;
  let resets = 0;
  let begunAgain = false;
  await front.whilePaused(async () => {
    await stage.renamesGroup();
    // A sync repeats the record at its checkpoint. This new result becomes that record, so that no renamed record is
    // repeated.
    await marked(trial);
    front.trouble = (page) => {
      if (page === null) return null;
      if (page.cursor === null) {
        begunAgain ||= resets > 0;
        return null;
      }
      if (begunAgain || resets >= maxResets) return null;
      resets += 1;
      return { kind: 'reset' };
    };
  });
  await trial.until(() => begunAgain || resets >= maxResets);
  const differences = await trial.settles();
  front.trouble = null;
  return faultsOf(
    differences,
    all(
      'early-checkpoint',
      'A sync broke off after its first page, and the remaining pages were lost. Store X-Sync-Through when the sync is complete, not before',
    ),
  );
}

/** Milliseconds from the last byte of a page to the kill. The consumer is then still processing the page. */
const killsAfterMs = [0, 20, 60, 150, 300];

async function killed(trial: Trial): Promise<Found[]> {
  const { front, stage, runner } = trial;
  if (runner === null) throw new NotPlayed('it is not started here: --start COMMAND lets it be killed');
  const sentence =
    'It was killed while it stored results, and lost them. Store the checkpoint in the same transaction as the results, or after them';
  let isHeld = false;
  await front.whilePaused(async () => {
    await stage.renamesGroup();
    await marked(trial);
    front.trouble = (page) => {
      if (page?.cursor == null) return null;
      isHeld = true;
      return 'hold';
    };
  });
  await trial.until(() => isHeld);
  await runner.kill();
  front.trouble = null;
  await trial.starts();
  const found = faultsOf(
    await trial.settles(),
    all('early-checkpoint', `It was killed in the middle of a walk. ${sentence}`),
  );
  for (const afterMs of killsAfterMs) {
    if (found.length > 0 || trial.signal.aborted) break;
    let nowMs = 0;
    await front.whilePaused(async () => {
      await stage.completes(3);
      await marked(trial);
      nowMs = trial.nowMs();
    });
    if (!(await trial.until(() => front.walksSince(nowMs).length > 0))) break;
    const endMs = trial.nowMs() + afterMs;
    await trial.until(() => trial.nowMs() >= endMs, afterMs);
    await runner.kill();
    await trial.starts();
    found.push(...faultsOf(await trial.settles(), all('early-checkpoint', sentence)));
  }
  return found;
}

async function signatures(trial: Trial, forwarder: Forwarder | null): Promise<Found[]> {
  if (forwarder === null) throw new NotPlayed('it takes no webhooks: --forward-to URL says where');
  const { app, secret, delivered } = trial.stage;
  const before = delivered.length;
  await marked(trial);
  await trial.until(() => delivered.length > before);
  const body = sampleEvent(assessmentCompleted, {
    nowMs: app.clock.nowMs(),
    random: app.random,
    baseUrl: app.settings.baseUrl,
  });
  const found: Found[] = [];
  for (const { probe, refused: isRefused, statusCode, error } of await forwarder.probe(secret, body, () =>
    app.random.uuid(),
  )) {
    if (isRefused) continue;
    const isOld = probe.includes('six minutes');
    const answer = statusCode === null ? error : `it answered ${statusCode}`;
    found.push({
      fault: isOld ? 'accepted-old-signature' : 'accepted-bad-signature',
      sentence: `It did not refuse a delivery ${probe}: ${answer}, and must answer 400.`,
      ids: [],
    });
  }
  const differences = await trial.settles(1);
  return [
    ...found,
    ...refused(trial, before),
    ...faultsOf(differences, { kept: ['accepted-bad-signature', 'It stored what a forged delivery said'] }),
  ];
}

async function repeatedEvent(trial: Trial, forwarder: Forwarder | null): Promise<Found[]> {
  if (forwarder === null) throw new NotPlayed('it takes no webhooks: --forward-to URL says where');
  const { stage } = trial;
  const before = stage.delivered.length;
  await marked(trial);
  await trial.until(() => stage.delivered.length > before);
  const first = await trial.settles();
  const event = stage.delivered.at(-1);
  if (event === undefined) return faultsOf(first);
  const again = stage.delivered.length;
  await stage.delivers(event);
  await stage.delivers(event);
  const refusals = refused(trial, again).map((one) => ({
    ...one,
    fault: 'refused-repeat',
    sentence: one.sentence.replace('a genuine event', 'an event that it had taken before'),
  }));
  return [
    ...refusals,
    ...faultsOf(await trial.settles(2), {
      repeated: ['duplicate', 'An event came twice, and its result is there twice: store each under its assessment_id'],
    }),
  ];
}

async function lateEvent(trial: Trial, forwarder: Forwarder | null): Promise<Found[]> {
  if (forwarder === null) throw new NotPlayed('it takes no webhooks: --forward-to URL says where');
  const { stage } = trial;
  stage.isHolding = true;
  const [id] = (await stage.completes()) as [string];
  await trial.until(() => stage.held.length > 0);
  stage.isHolding = false;
  await stage.amends(id);
  await marked(trial);
  const found = faultsOf(await trial.settles());
  for (const event of stage.held.splice(0)) await stage.delivers(event);
  const sentence = 'A late event replaced a newer state of its result. Read the result again, or compare updated_at';
  return [...found, ...faultsOf(await trial.settles(2), all('order', sentence))];
}

async function unknownValues(trial: Trial): Promise<Found[]> {
  const { stage, front } = trial;
  const { app } = stage;
  front.isSurprising = true;
  const found: Found[] = [];
  const delivered = await stage.delivers({
    deliveryId: app.random.uuid(),
    body: unknownEventBody(formatMs(app.clock.nowMs())),
  });
  if (delivered !== null && delivered.error !== null)
    found.push({
      fault: 'unknown-event',
      sentence: `It did not answer an unknown event type with 2xx: ${delivered.error}.`,
      ids: [],
    });
  await stage.amends(stage.ids[30]!);
  await marked(trial);
  const differences = await trial.settles();
  front.isSurprising = false;
  return [
    ...found,
    ...faultsOf(
      differences,
      all(
        'unknown-values',
        'It failed at an unknown field or value, which a later version may send. Ignore unknown fields and values',
      ),
    ),
  ];
}

async function restoredBackup(trial: Trial): Promise<Found[]> {
  const { stage } = trial;
  await marked(trial);
  await trial.settles();
  await stage.backup.keep();
  const lost = await stage.completes(2);
  await stage.amends(stage.ids[40]!);
  stage.ids.splice(stage.ids.indexOf(lost[0]!), lost.length);
  await marked(trial);
  const before = await trial.settles();
  await stage.restoresBackup();
  await marked(trial);
  const sentence =
    'After a restore of the service, its local copy still contains lost results. Compare X-Sync-Digest, or run a full sync if X-Sync-Restored is later than your own';
  return [...faultsOf(before), ...faultsOf(await trial.settles(), all('restored-backup', sentence))];
}

export const scenarios: readonly Scenario[] = [
  { name: 'first-walk', summary: 'Everything is read, over several pages', play: firstWalk },
  { name: 'changes', summary: 'Results are recorded and amended, and learners get other names', play: changes },
  { name: 'null-values', summary: 'A learner has no reference, and a result no level', play: nullValues },
  { name: 'empty-page', summary: 'A page is empty, and has a next one', play: emptyPage },
  { name: 'quiet-days', summary: 'Hardly anything changes from poll to poll', play: quietDays },
  { name: 'withdrawn', summary: 'A result is withdrawn', play: withdrawn },
  { name: 'scope-exit', summary: 'A learner leaves the group that is followed', play: scopeExit },
  { name: 'retry-after', summary: 'A request is refused with 429 and Retry-After', play: retryAfter },
  { name: 'interrupted', summary: 'Responses are cut, lost, slow, or 503', play: interrupted },
  { name: 'broken-walk', summary: 'A sync breaks off after its first page', play: brokenWalk },
  { name: 'killed', summary: 'The client is killed while it reads and while it stores', play: killed },
  { name: 'signatures', summary: 'Deliveries that are forged, changed, too old or from the future', play: signatures },
  { name: 'repeated-event', summary: 'The same event comes three times', play: repeatedEvent },
  { name: 'late-event', summary: 'An event comes after newer ones', play: lateEvent },
  { name: 'unknown-values', summary: 'Fields, values and events that no version has yet', play: unknownValues },
  { name: 'restored-backup', summary: 'The service is restored from a backup', play: restoredBackup },
  { name: 'own-writes', summary: 'A restore loses writes of the client', play: ownWrites },
];

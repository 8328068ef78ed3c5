import type { Server } from 'node:http';
import { request } from 'undici';
import type { App } from '../../platform/app.ts';
import { apiBase } from '../../platform/config/settings.ts';
import type { Forwarder } from './forward.ts';
import { newSecret } from '../../integrations/webhooks/http/signing.ts';
import { Front } from './front.ts';
import { type Scenario, scenarios } from './scenarios.ts';
import { Stage } from './stage.ts';
import { createTrial, type Found, type Held, NotPlayed, type Runner, type Trial } from './trial.ts';
import { factsAt } from './written.ts';

export type ScenarioOutcome = {
  name: string;
  summary: string;
  outcome: 'passed' | 'failed' | 'not_played';
  because: string | null;
  faults: Found[];
};

export type Setup = {
  api: string;
  accessKeyId: string;
  secretAccessKey: string;
  webhookSecret: string;
  groupId: string;
};

export type ConformOptions = {
  app: App;
  server: Server;
  url: string;
  forwarder: Forwarder | null;
  /** Reads the consumer's mirror. If there is no mirror, returns null, or throws the reason if `isNeeded` is true. */
  readHeld: (isNeeded: boolean) => Promise<Held | null>;
  /** Called when the service is ready. Null: the consumer is started elsewhere. */
  prepare: (setup: Setup) => Runner | null;
  only: readonly string[] | null;
  patienceMs: number;
  signal: AbortSignal;
  onOutcome: (outcome: ScenarioOutcome) => void;
};

/** Plays the scenarios with one consumer, in an organisation that exists only for this test. */
export async function conform(options: ConformOptions): Promise<ScenarioOutcome[]> {
  const { app, url, forwarder } = options;
  const stage = await Stage.open(app, newSecret(app.random), forwarder);
  const api = `${url}${apiBase}`;
  const readFacts = factsAt(api, stage);
  const factsBefore = await readFacts();
  const front = new Front(options.server, stage.key.access_key_id, app.clock);
  const runner = options.prepare({
    api,
    accessKeyId: stage.key.access_key_id,
    secretAccessKey: stage.key.secret_access_key,
    webhookSecret: stage.secret,
    groupId: stage.groupId,
  });
  const trial = createTrial({
    ...options,
    stage,
    front,
    runner,
    readShown: shownAt(api, stage),
    readFacts,
    factsBefore,
  });
  const outcomes: ScenarioOutcome[] = [];
  try {
    await stage.beginsForwarding();
    await runner?.start();
    for (const scenario of scenarios) {
      const isAsked = options.only?.includes(scenario.name) ?? true;
      // The first scenario is always played, because later scenarios compare with its full sync.
      if (!isAsked && scenario !== scenarios[0]) continue;
      if (options.signal.aborted) break;
      const outcome = await played(trial, scenario, forwarder);
      if (trial.front.walks.length > 0 && !trial.hasRead()) await options.readHeld(true);
      outcomes.push(outcome);
      options.onOutcome(outcome);
      if (outcome.faults.some(({ fault }) => fault === 'silent')) break;
    }
    return outcomes;
  } finally {
    await runner?.kill();
    await stage.close();
  }
}

async function played(trial: Trial, scenario: Scenario, forwarder: Forwarder | null): Promise<ScenarioOutcome> {
  const { name, summary } = scenario;
  const ended = (
    outcome: ScenarioOutcome['outcome'],
    faults: Found[],
    because: string | null = null,
  ): ScenarioOutcome => ({
    name,
    summary,
    outcome,
    because,
    faults,
  });
  try {
    const faults = judged(trial, await scenario.play(trial, forwarder));
    const isSilent = faults.some(({ fault }) => fault === 'silent');
    if (trial.runner?.hasEnded() === true && !isSilent) {
      faults.unshift({ fault: 'crash', sentence: 'It ended unexpectedly, and was started again.', ids: [] });
      await trial.starts();
    }
    return ended(faults.length === 0 ? 'passed' : 'failed', faults);
  } catch (error) {
    if (!(error instanceof NotPlayed)) throw error;
    return ended('not_played', [], error.message);
  } finally {
    trial.front.trouble = null;
    trial.front.isSurprising = false;
    trial.front.beginsEmpty = false;
  }
}

/** If the consumer's `since` is its own clock, this explains all faults with IDs, so one fault replaces them. */
function judged({ front }: Trial, faults: Found[]): Found[] {
  if (front.ownClock === null) return faults;
  const { since, newest } = front.ownClock;
  const ids = faults.flatMap((one) => one.ids);
  front.ownClock = null;
  return [
    {
      fault: 'own-clock',
      sentence: `It asked with since=${since}, and the newest X-Sync-Through that it had been given was ${newest}: since is never a clock of one's own.`,
      ids,
    },
    ...faults.filter((one) => one.ids.length === 0),
  ];
}

/** Reads the feed with another key but with the consumer's filters, so that the test can compare both. */
function shownAt(api: string, stage: Stage): (filters: string) => Promise<Map<string, string>> {
  const headers = {
    'x-access-key-id': stage.ownKey.access_key_id,
    'x-secret-access-key': stage.ownKey.secret_access_key,
  };
  const cached = new Map<string, { etag: string; shown: Map<string, string> }>();
  return async (filters) => {
    const shown = new Map<string, string>();
    let next: string | null = `${api}/assessments?limit=500&status=completed${filters === '' ? '' : `&${filters}`}`;
    const before = cached.get(filters);
    let etag = '';
    while (next !== null) {
      const isFirst: boolean = etag === '';
      const reply = await request(next, {
        headers: isFirst && before !== undefined ? { ...headers, 'if-none-match': before.etag } : headers,
      });
      const text = await reply.body.text();
      if (reply.statusCode === 304) return before!.shown;
      if (reply.statusCode !== 200) throw new Error(`the service answered ${reply.statusCode}`);
      if (isFirst) etag = String(reply.headers.etag);
      const body = JSON.parse(text) as {
        data: { assessment_id: string; updated_at: string }[];
        pagination: { next: string | null };
      };
      for (const one of body.data) shown.set(one.assessment_id, one.updated_at);
      ({ next } = body.pagination);
    }
    cached.set(filters, { etag, shown });
    return shown;
  };
}

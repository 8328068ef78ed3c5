import type { KeyView } from '../src/api/key-view.ts';
import { viewKey } from '../src/api/key-view.ts';
import { findKey } from '../src/keys/keys.ts';
import type { Command } from './command.ts';
import { organisationOf, requiredOption, table, unknownKey, withApp } from './open.ts';

/** References and ids only: no names, no levels. */
function viewJson(keyId: string, { request, lag, last, refusal, ...seen }: KeyView) {
  return {
    access_key_id: keyId,
    state: seen.state,
    sentence: seen.sentence,
    last_list_at: last?.at.toISOString() ?? null,
    last_refused: refusal === null ? null : { at: refusal.call.at.toISOString(), code: refusal.code },
    next:
      request === null
        ? null
        : {
            request: request.text,
            limit: request.limit,
            has_more: request.more,
            not_modified: request.unchanged,
            digest: request.digest,
            entries: request.entries.map(({ kind, payload, again, why }) => ({
              assessment_id: payload.assessment_id,
              updated_at: payload.updated_at,
              kind,
              learner_id: payload.learner?.learner_id ?? null,
              learner_ref: payload.learner?.ref ?? null,
              again,
              why,
            })),
          },
    behind:
      lag === null
        ? null
        : { changes: lag.changes, at_least: lag.atLeast, oldest_at: lag.oldest?.toISOString() ?? null },
    kept_out: seen.keptOut,
    polls_24h: seen.polls,
    rate: seen.rate,
    digest_comparisons_24h: seen.comparisons,
  };
}

const kindWords = { result: 'result', withdrawn: 'withdrawn', left_scope: 'left' };

function viewText({ sentence, request, keptOut }: KeyView): string {
  const entries = (request?.entries ?? []).map(({ kind, payload, why }) => [
    payload.assessment_id,
    kindWords[kind],
    payload.updated_at,
    payload.learner?.ref ?? '',
    why,
  ]);
  return [
    sentence,
    ...(request === null ? [] : ['', request.text]),
    ...(entries.length === 0
      ? []
      : [table([['assessment_id', 'comes as', 'updated_at', 'learner', 'why'], ...entries])]),
    ...(keptOut.length === 0
      ? []
      : ['', table([['kept out', 'why'], ...keptOut.map((one) => [one.assessment_id, one.why])])]),
  ].join('\n');
}

export const viewCommand: Command = {
  name: 'key view',
  usage: '--organisation ID KEY_ID',
  summary: 'What does this key receive next? Its next page, how far it is behind, and why results do not come to it',
  options: { organisation: { type: 'string' } },
  positionals: [1, 1],
  run: (call) =>
    withApp(async (app) => {
      const found = await organisationOf(app, requiredOption(call, 'organisation'));
      const keyId = call.positionals[0]!;
      const key = await findKey(app.db, found.organisation_id, keyId);
      if (key === undefined) throw unknownKey(keyId);
      const seen = (await viewKey(app, found.organisation_id, key))!;
      return { json: viewJson(keyId, seen), text: viewText(seen) };
    }),
};

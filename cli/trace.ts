import { traceResult } from '../src/trace/trace.ts';
import type { Command } from './command.ts';
import { organisationOf, requiredOption, withApp } from './open.ts';

export const commands: Command[] = [
  {
    name: 'trace',
    usage: '--organisation ID ASSESSMENT_ID',
    summary: 'Where is this result? Who fetched it or was told of it, and why others were not',
    options: { organisation: { type: 'string' } },
    positionals: [1, 1],
    run: async (call) => {
      const id = requiredOption(call, 'organisation');
      return withApp(async (app) => {
        const { organisation_id: organisationId } = await organisationOf(app, id);
        const { reason, sentence, result, keys, endpoints } = await traceResult(
          app,
          organisationId,
          call.positionals[0]!,
        );
        const position = result === null ? null : new Date(result.position / 1000).toISOString();
        return {
          json: {
            reason,
            sentence,
            recorded_at: result?.recorded_at ?? null,
            updated_at: position,
            keys: keys.map(({ key, ...rest }) => ({ key_id: key.key_id, label: key.label, ...rest })),
            endpoints: endpoints.map(({ endpoint, ...rest }) => ({
              endpoint_id: endpoint.endpoint_id,
              delivery_id: endpoint.delivery?.delivery_id ?? null,
              ...rest,
            })),
          },
          exitCode: result === null ? 1 : 0,
          text: [
            sentence,
            ...(result === null
              ? []
              : [
                  '',
                  ...(result.recorded_at === null ? [] : [`recorded    ${result.recorded_at.toISOString()}`]),
                  `updated_at  ${position}`,
                  ...keys.map((one) => `key         ${one.sentence}${one.proof === null ? '' : ` (log ${one.proof})`}`),
                  ...endpoints.map((one) => `webhook     ${one.sentence}`),
                ]),
          ].join('\n'),
        };
      });
    },
  },
];

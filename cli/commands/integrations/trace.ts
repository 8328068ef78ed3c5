import { traceResult } from '../../../src/api/tracer/trace.ts';
import type { Command } from '../../kit/command.ts';
import { organisationCommand } from '../../kit/open.ts';

export const commands: Command[] = [
  organisationCommand({
    name: 'trace',
    summary: 'Show who received a result, and who did not',
    examples: ['--organisation $ORG ASSESSMENT_ID', '--organisation $ORG ASSESSMENT_ID --json'],
    takes: 'ASSESSMENT_ID',
    run: async ({ app, organisationId, positionals }) => {
      const traced = await traceResult(app, organisationId, positionals[0]!);
      const { reason, sentence, result, keys, endpoints } = traced;
      const position = result === null ? null : new Date(result.position / 1000).toISOString();
      const lines = [
        '',
        `recorded    ${result?.recorded_at.toISOString()}`,
        `updated_at  ${position}`,
        ...keys.map((one) => `key         ${one.sentence}${one.proof === null ? '' : ` (log ${one.proof})`}`),
        ...endpoints.map((one) => `webhook     ${one.sentence}`),
      ];
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
        text: [sentence, ...(result === null ? [] : lines)].join('\n'),
      };
    },
  }),
];

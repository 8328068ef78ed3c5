import type { Command } from '../../../cli/kit/command.ts';
import { command, Failure } from '../../../cli/kit/command.ts';
import { readJsonFile } from '../../../cli/kit/file.ts';
import { estimators, VectorFileError, compareVectors, parseVectors } from '../vectors.ts';
import type { Comparison, Estimator } from '../vectors.ts';

const names: Record<Estimator, string> = {
  eap_theta: 'EAP, theta',
  eap_sd: 'EAP, posterior SD',
  map: 'MAP, theta and SE',
  mle: 'MLE, theta and SE',
  wle: 'WLE (Warm), theta and SE',
  info: 'Test information',
  loglik: 'Log likelihood',
};

function table(comparison: Comparison): string {
  const rows = [
    ['Estimator', 'Compared', 'Largest difference', 'In'],
    ...estimators.map((estimator) => {
      const largest = comparison.maxAbs[estimator];
      return [
        names[estimator],
        String(comparison.compared[estimator]),
        largest === null ? '-' : largest.toExponential(2),
        comparison.worst[estimator] ?? '-',
      ];
    }),
  ];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...rows.map((row) => row[column]!.length)));
  const lines = rows.map((row) =>
    row
      .map((cell, i) => (i === 1 || i === 2 ? cell.padStart(widths[i]!) : cell.padEnd(widths[i]!)))
      .join('  ')
      .trimEnd(),
  );
  for (const { id, estimator, expected, computed } of comparison.disagreements) {
    lines.push(`${id}: ${estimator} expected ${expected}, computed ${computed}`);
  }
  return [`${comparison.count} vectors`, ...lines].join('\n');
}

const vectors = command({
  name: 'score vectors',
  summary: 'Compare the IRT engine with reference figures',
  examples: ['irt-reference.json', 'irt-reference.json --json'],
  environment: {},
  fails: 'A figure differs, or the command has failed.',
  takes: 'FILE',
  async run({ positionals }) {
    const file = positionals[0]!;
    const parsed = await readJsonFile(file);
    let comparison: Comparison;
    try {
      comparison = compareVectors(parseVectors(parsed));
    } catch (error) {
      if (error instanceof VectorFileError) throw new Failure(`${file} is not a set of vectors: ${error.message}`);
      throw error;
    }
    const { count, maxAbs, disagreements } = comparison;
    const json = disagreements.length === 0 ? { count, max_abs: maxAbs } : { count, max_abs: maxAbs, disagreements };
    return { json, text: table(comparison) };
  },
});

export const commands: Command[] = [vectors];

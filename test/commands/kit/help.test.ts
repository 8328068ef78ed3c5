import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { allCommands } from '../../../cli/kit/run.ts';
import { ars } from '../../support/ars.ts';

const commands = await allCommands();

/** Splits a command line as a shell does, up to a redirection. */
const wordsOf = (line: string): string[] =>
  [...line.split(/ [<>] /)[0]!.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => (quoted ?? bare)!);

suite('help of commands', () => {
  for (const command of commands)
    test(`ars ${command.name}`, async () => {
      const { code, out } = await ars([...command.name.split(' '), '--help']);
      assert.equal(code, 0);
      const [first = ''] = out.split('\n');
      assert.match(first, /^[A-Z][^.]*$/);
      assert.ok(first.split(' ').length <= 10, first);
      assert.ok(out.includes(`Usage: ars ${command.name}`));
      for (const { flag, about, option } of command.options) {
        assert.match(about ?? '', /^[A-Z].{4,}/, flag);
        assert.ok(out.includes(flag));
        const said = out.replace(/\s+/g, ' ');
        if (option.fallback) assert.ok(said.includes(`(default: ${option.fallback})`), flag);
      }
      for (const part of ['Options:', '--json', 'Examples:', 'Exit codes:']) assert.ok(out.includes(part), part);
      assert.ok(
        out.split('\n').every((line) => line.length <= 80 || line.startsWith('  ars ') || line.startsWith('Usage')),
      );
    });

  test('every example uses arguments that its command takes', () => {
    for (const { name, examples, options, positionals } of commands)
      for (const example of examples) {
        const words = wordsOf(example);
        let others = 0;
        for (let at = 0; at < words.length; at++) {
          const option = options.find(({ flag }) => flag === words[at]);
          if (words[at] === '--json') continue;
          if (option === undefined) {
            assert.doesNotMatch(words[at]!, /^--/, `${name}: ${words[at]}`);
            others++;
          } else if (option.option.value !== undefined) at++;
        }
        const [min, max] = positionals;
        assert.ok(others >= min && others <= max, `ars ${name} ${example}`);
        for (const { flag, option } of options)
          assert.ok(option.isRequired !== true || words.includes(flag), `ars ${name} ${example} lacks ${flag}`);
      }
  });

  test('a wrong command or option gets the nearest one', async () => {
    for (const [words, said] of [
      [['organization', 'list'], "ars: unknown command 'organization'. Did you mean organisation?\n"],
      [['key', 'creat'], "ars: unknown command 'creat'. Did you mean create?\n"],
      [['key', 'list', '--organization', 'x'], "ars: unknown option '--organization'. Did you mean --organisation?\n"],
      [['migrate', '--zzzzzz'], "ars: unknown option '--zzzzzz'. See ars migrate --help.\n"],
    ] as const)
      assert.deepEqual(await ars(words), { code: 2, said, out: '', lines: [], json: undefined });
  });

  test('in a checkout, commands are printed as npm runs them', async () => {
    const { out } = await ars(['key', 'list', '--help'], { npm_lifecycle_event: 'ars' });
    assert.match(out, /Usage: npm run -s ars -- key list --organisation ID\n/);
    const { said } = await ars(['key', 'list', '--nope'], { npm_lifecycle_event: 'ars' });
    assert.match(said, /^ars: .* See npm run -s ars -- key --help\.\n$/);
  });
});

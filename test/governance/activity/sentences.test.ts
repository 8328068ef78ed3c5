import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allCommands } from '../../../cli/kit/run.ts';
import { actSentences } from '../../../src/governance/activity/activity.ts';
import { actionOf } from '../../../src/web/console/kit/route.ts';
import { consoleRoutes } from '../../../src/web/console/routes.ts';

/** Commands that are about no organisation, or store nothing. */
const silent =
  /^(serve|sandbox|sandbox code|migrate|organisation list|status|score .*|bank .*|secret accept|verify-sync|backup|restore|distribute)$/;

test('every action of the console and of the commands has a sentence', async () => {
  const acts = consoleRoutes.filter((route) => route.method === 'POST').map(actionOf);
  const commands = (await allCommands()).map((one) => one.name).filter((one) => !silent.test(one));
  const without = [...acts, ...commands].filter((action) => !actSentences.has(action));
  assert.deepEqual(without, [], 'Add a sentence to src/governance/activity/sentences.json');
  const known = new Set(consoleRoutes.map(actionOf));
  const unknown = [...actSentences.keys()].filter(
    (action) => action.includes(' /') && !action.startsWith('GET /console/sso/') && !known.has(action),
  );
  assert.deepEqual(unknown, [], 'These routes are no longer there');
  for (const [action, { sentence }] of actSentences)
    assert.match(sentence, /^[a-z][^.{}]*(\{\}[^.{}]*)?$/, `${action}: ${sentence}`);
});

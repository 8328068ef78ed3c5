// Process: own. Measures how long the process does not answer.
import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { loadBank, renderItem } from '../../src/engine/item-bank/load.ts';
import { mark, rightAnswer } from '../../src/engine/item-bank/mark.ts';
import { limits } from '../../src/platform/config/limits.ts';
import { subjects } from '../../src/engine/scoring/levels.ts';
import { resultToken } from '../../src/sittings/result-link.ts';
import { processorMs } from '../support/metrics/processor.ts';
import { withService } from '../support/service.ts';
import { invited } from '../sittings/learner.ts';
import { code } from '../support/structure/source-tree.ts';
import { worstTexts } from '../support/worst-texts.ts';
import { cut, fileForm, hangUpAll, maxTurnMs, multipart, mustBeQuick, send, texts, urlencoded } from './turns.ts';

/** The worst texts in everything that can be sent without signing in: a learner's pages, and the public ones. */

const service = await withService();
after(hangUpAll);
const org = await service.organisation();
const nobody = 'nobody';

const post = (path: string, form: Record<string, string>) => ({
  method: 'POST',
  path,
  headers: urlencoded,
  body: new URLSearchParams(form).toString(),
});

const playerSource = code('src/web/player/routes.ts');
const playerPaths = [...playerSource.matchAll(/\bon\('POST', '(\/\w+)'/g)].map(([, path]) => path!);

suite('64 KB of the worst texts keep the event loop busy for at most 50 ms', () => {
  test('in every form of a sitting', async () => {
    assert.deepEqual(playerPaths.sort(), ['/continue', '/finish', '/practice', '/question', '/start']);
    for (const path of playerPaths) {
      const learner = await invited(service, org);
      if (path !== '/start' && path !== '/practice') await learner.starts();
      for (const button of path === '/question' ? ['next', 'skip', 'pause', 'skip-now'] : [''])
        for (const [kind, text] of texts)
          for (const field of [
            'sitting',
            'position',
            'do',
            'subject',
            'code',
            'own',
            'text',
            'answer',
            text.slice(0, 100),
          ]) {
            const shown = await send(service, { method: 'GET', path: `/a/${learner.token}/question` });
            const hidden = [...shown.text.matchAll(/<input[^>]* name="([^"]+)" value="([^"]*)"/g)];
            const own = Object.fromEntries(hidden.map(([, name, value]) => [name!, value!]));
            const sent = cut(text, limits.learnerFormBytes, (some) =>
              post(`/a/${learner.token}${path}`, { ...own, do: button, [field]: some }),
            );
            await mustBeQuick(service, `${path} ${button}: ${kind} in ${field.slice(0, 20)}`, sent);
            if (button === 'pause') await send(service, post(`/a/${learner.token}/continue`, {}));
          }
    }
  });

  test('in a request for a review', async () => {
    const learner = await invited(service, org);
    const path = `/result/${resultToken(service.app, await learner.sits())}`;
    for (const [kind, text] of Object.entries(worstTexts(64 * 1024))) {
      await mustBeQuick(
        service,
        kind,
        cut(text, limits.learnerFormBytes, (some) => post(path, { text: some })),
      );
      const fitting = text.slice(0, limits.reviewTextChars).toWellFormed();
      await mustBeQuick(service, `${kind}, of the greatest length`, post(path, { text: fitting }));
    }
  });

  test('in what anyone can ask for', async () => {
    const learner = await invited(service, org);
    const forms = [
      ...[learner.token, nobody].flatMap((token) => playerPaths.map((path) => `/a/${token}${path}`)),
      `/result/${nobody}`,
      `/setup/${nobody}`,
      '/verify',
      '/nothing',
    ];
    for (const path of forms) {
      for (const one of ['a&', '&', 'a=b&'])
        await mustBeQuick(service, `${one} often`, {
          ...post(path, {}),
          body: one.repeat(16 * 1024).slice(0, 64 * 1024),
        });
      const parts = {
        method: 'POST',
        path,
        headers: multipart,
        body: fileForm('a', '')
          .repeat(100)
          .slice(0, 16 * 1024),
      };
      await mustBeQuick(service, 'many parts', parts);
    }
    for (const [kind, text] of texts)
      for (const path of [
        '/verify?sha256=',
        '/verify?',
        '/a/',
        '/result/',
        '/setup/',
        '/docs/',
        '/docs/?q=',
        '/openapi.json?',
        '/',
        '/readyz?',
      ])
        await mustBeQuick(
          service,
          `${kind} behind ${path}`,
          cut(text, 14_000, (some) => ({ method: 'GET', path: path + encodeURIComponent(some) })),
        );
    for (const path of ['/verify?', '/docs/?', '/console/sign-in?', '/a/nobody?'])
      for (const one of ['a&', 'sha256=a&', '&', '/', '%2f', '%', '../'])
        await mustBeQuick(service, `${one} often behind ${path}`, {
          method: 'GET',
          path: path + one.repeat(14_000 / one.length),
        });
  });
});

test('500 characters of the worst texts are marked within 50 ms, as the answer to any question', () => {
  const bank = loadBank();
  const answers = { ...worstTexts(2 * limits.answerChars), sums: '(1)'.repeat(200), words: 'so is it '.repeat(60) };
  for (const item of subjects.flatMap((subject) => bank.subjects[subject].items)) {
    const rendered = renderItem(item, '1');
    if (!['numeric', 'short_text', 'task'].includes(rendered.type)) continue;
    const right = rightAnswer(rendered);
    for (const [kind, text] of Object.entries(answers)) {
      const given = Object.fromEntries(Object.keys(right).map((name) => [name, text.slice(0, limits.answerChars)]));
      const ms = processorMs(() => mark(rendered, given), maxTurnMs);
      assert.ok(ms <= maxTurnMs, `${item.id}, ${kind}: ${ms} ms`);
    }
  }
});

// Process: own. Sets the environment of the process.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Call } from '../../../cli/kit/command.ts';
import { Failure, Misuse } from '../../../cli/kit/command.ts';
import { commands as listenCommands } from '../../../cli/commands/integrations/listen.ts';
import { commands as webhookCommands } from '../../../cli/commands/integrations/webhooks.ts';
import { answer, caFile, inTurn } from './receiver.ts';
import { withScene } from './scene.ts';
import { verify } from './receiving/verify.ts';

const ars = fileURLToPath(new URL('../../../cli/ars.ts', import.meta.url));

suite('the command line', async () => {
  const scene = await withScene({ ARS_WEBHOOK_RETRY_SCHEDULE: '1s' });
  const env = {
    ...process.env,
    DATABASE_URL: scene.service.databaseUrl,
    ARS_SECRET: scene.service.app.settings.secret,
    ARS_WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8',
    NODE_EXTRA_CA_CERTS: caFile,
  };
  const organisation = ['--organisation', scene.organisation.publicId];
  // In this process, which costs a tenth of a process of its own; `listens` below runs the program itself.
  Object.assign(process.env, {
    DATABASE_URL: env.DATABASE_URL,
    ARS_SECRET: env.ARS_SECRET,
    ARS_WEBHOOK_ALLOW_NETWORKS: env.ARS_WEBHOOK_ALLOW_NETWORKS,
  });
  const run = async (...words: string[]): Promise<{ code: number; out: string; err: string; json: any }> => {
    const command = [...webhookCommands, ...listenCommands].find((one) => words.join(' ').startsWith(one.name))!;
    try {
      const parsed = parseArgs({
        args: words.slice(command.name.split(' ').length),
        allowPositionals: true,
        options: Object.fromEntries([
          ['json', { type: 'boolean' } as const],
          ...command.options.map(({ flag, option: { value, isMany = false } }) => {
            return [flag.slice(2), { type: value === undefined ? 'boolean' : 'string', multiple: isMany }] as const;
          }),
        ]),
      });
      const { positionals } = parsed;
      const values = parsed.values as Record<string, string | boolean | undefined>;
      const keyed = command.options.map(({ key, flag }) => [key, values[flag.slice(2)]]);
      const output = await command.run({
        options: Object.fromEntries(keyed) as Call['options'],
        positionals,
        json: values.json === true,
        progress: () => {},
        step: () => {},
        signal: new AbortController().signal,
      });
      return { code: output.exitCode ?? 0, out: output.text, err: '', json: JSON.parse(JSON.stringify(output.json)) };
    } catch (error) {
      if (!(error instanceof Misuse || error instanceof Failure)) throw error;
      return { code: error instanceof Misuse ? 2 : 1, out: '', err: error.message, json: undefined };
    }
  };

  test('lists, pauses, resumes, rotates and tests endpoints', async () => {
    const endpoint = await scene.endpoint({ behaviour: inTurn(answer(204), answer(500)) });
    await scene.emit(['ana']);
    const [listed] = (await run('webhooks', 'list', ...organisation, '--json')).json.data;
    assert.deepEqual(
      [listed.id, listed.status, listed.waiting, listed.dead, listed.warning],
      [endpoint.id, 'active', 1, 0, null],
    );
    assert.equal('secret' in listed, false);
    assert.equal((await run('webhooks', 'pause', ...organisation, endpoint.id, '--json')).json.status, 'paused');
    assert.match(
      (await run('webhooks', 'list', ...organisation)).out,
      new RegExp(`${endpoint.id}\\s+paused\\s+1\\s+0`),
    );

    const tested = await run('webhooks', 'test', ...organisation, endpoint.id, '--json');
    assert.deepEqual([tested.code, tested.json.succeeded, tested.json.status_code], [0, true, 204]);
    const failed = await run('webhooks', 'test', ...organisation, endpoint.id);
    assert.deepEqual([failed.code, /The endpoint answered 500/.test(failed.out)], [1, true]);
    const [request] = endpoint.receiver.received;
    assert.equal(JSON.parse(request!.body.toString()).event, 'webhook.test');

    const rotated = (await run('webhooks', 'rotate-secret', ...organisation, endpoint.id, '--json')).json;
    assert.match(rotated.secret, /^whsec_/);
    assert.notEqual(rotated.secret, endpoint.secret);
    assert.equal((await run('webhooks', 'resume', ...organisation, endpoint.id, '--json')).json.status, 'active');
    const audited = await scene.service.app.db.query<{ action: string }>(
      "select action from audit where organisation_id = $1 and actor = 'operator' order by audit_id",
      [scene.organisation.id],
    );
    assert.deepEqual(
      audited.map((row) => row.action),
      ['webhooks pause', 'webhooks test', 'webhooks test', 'webhooks rotate-secret', 'webhooks resume'],
    );
  });

  test('lists deliveries with every attempt, and sends one or a range again', async () => {
    const worker = scene.worker();
    scene.clock.advance(1000);
    const endpoint = await scene.endpoint({ behaviour: answer(500) });
    await scene.emit(['ana']);
    await scene.settle(worker);
    scene.clock.advance(2_000);
    await scene.settle(worker);
    const deliveries = async (...more: string[]) =>
      (await run('webhooks', 'deliveries', ...organisation, '--endpoint', endpoint.id, ...more, '--json')).json.data;
    const [dead] = await deliveries('--status', 'dead');
    assert.deepEqual(Object.keys(dead), [
      'id',
      'endpoint_id',
      'event',
      'status',
      'attempts',
      'next_attempt_at',
      'cancelled_because',
    ]);
    assert.deepEqual(Object.keys(dead.attempts[0]), ['at', 'status_code', 'duration_ms', 'error']);
    assert.deepEqual(
      [dead.event, dead.status, dead.attempts.length, dead.next_attempt_at],
      ['learner.groups.updated', 'dead', 2, null],
    );
    assert.deepEqual(await deliveries('--status', 'succeeded'), []);
    assert.match((await run('webhooks', 'deliveries', ...organisation)).out, /The endpoint answered 500\./);

    endpoint.receiver.behave(answer(204));
    assert.equal((await run('webhooks', 'redeliver', ...organisation, dead.id, '--json')).json.id, dead.id);
    // What a command does takes the system's time, which lies after the clock of this service.
    scene.clock.set(Math.max(scene.clock.nowMs(), performance.timeOrigin + performance.now() + 1000));
    await scene.settle(worker);
    assert.equal((await deliveries())[0].status, 'succeeded');
    const [first] = dead.attempts;
    const replayed = await run(
      'webhooks',
      'replay',
      ...organisation,
      endpoint.id,
      '--from',
      first.at,
      '--to',
      '2100-01-01T00:00:00Z',
      '--json',
    );
    assert.deepEqual(replayed.json, { endpoint_id: endpoint.id, replayed: 1 });
    await worker.stop();
  });

  test('says in one sentence what is wrong', async () => {
    const cases: [string[], number, RegExp][] = [
      [
        ['webhooks', 'pause', ...organisation, 'b7e7bd50-0d3f-4d6e-9e0a-1f7a2b1c9a00'],
        1,
        /^No endpoint with the ID \S+ in this organisation; ars webhooks list shows them\.$/,
      ],
      [
        ['webhooks', 'redeliver', ...organisation, 'nonsense'],
        1,
        /^No delivery with the ID \S+ in this organisation; /,
      ],
      [['webhooks', 'deliveries', ...organisation, '--status', 'lost'], 2, /--status must be one of/],
      [
        [
          'webhooks',
          'replay',
          ...organisation,
          'b7e7bd50-0d3f-4d6e-9e0a-1f7a2b1c9a00',
          '--from',
          'yesterday',
          '--to',
          '2026-01-01T00:00:00Z',
        ],
        2,
        /--from must be/,
      ],
      [['listen', '--forward-to', 'http://hooks.example.org/'], 2, /must be https unless it is on this machine/],
      [['listen', '--forward-to', 'http://127.0.0.1.example.org/'], 2, /must be https unless it is on this machine/],
      [['listen', '--forward-to', 'https://:password@hooks.example.org/'], 2, /must be an http or https URL/],
    ];
    await Promise.all(
      cases.map(async ([words, code, sentence]) => {
        const result = await run(...words);
        assert.equal(result.code, code, words.join(' '));
        assert.match(result.err, sentence);
        assert.equal(result.err.trimEnd().split('\n').length, 1);
      }),
    );
  });

  test('listens: forwards events to a plain address on this machine, signed with the secret that it prints', async () => {
    type Request = { headers: IncomingMessage['headers']; body: string };
    const received: Request[] = [];
    const server = createServer(async (request, response) => {
      received.push({ headers: request.headers, body: await text(request) });
      response.writeHead(received.length === 2 ? 500 : 204).end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    after(() => {
      server.close();
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`;
    const listening = spawn(
      process.execPath,
      [
        ars,
        'listen',
        '--forward-to',
        url,
        ...organisation,
        '--trigger',
        'assessment.completed',
        '--count',
        '2',
        '--json',
      ],
      { env },
    );
    const output = Promise.all([text(listening.stdout), once(listening, 'exit')]);
    let said = '';
    await new Promise<void>((resolve) => {
      listening.stderr.on('data', (chunk) => {
        said += chunk;
        if (said.includes('from now on')) resolve();
      });
    });
    await scene.emit(['ana']);
    await scene.emit(['ben']);
    const [out, [code]] = await output;
    assert.equal(code, 0);
    const result = JSON.parse(out);
    assert.deepEqual([result.forwarded, result.failed], [2, 1]);
    assert.deepEqual(
      result.results.map((one: { event: string; status_code: number }) => [one.event, one.status_code]),
      [
        ['assessment.completed', 204],
        ['learner.groups.updated', 500],
        ['learner.groups.updated', 204],
      ],
    );
    assert.match(said, new RegExp(result.secret));
    for (const { headers, body } of received) {
      const header = String(headers['x-svc-signature-256']);
      assert.doesNotThrow(() =>
        verify({ secret: result.secret, header, body, nowMs: Number(/t=(\d+)/.exec(header)![1]) * 1000 }),
      );
    }
    assert.deepEqual(
      received.slice(1).map((request) => JSON.parse(request.body).learner_ref),
      ['ana', 'ben'],
    );
    assert.equal(JSON.parse(received[0]!.body).data.learner.full_name, 'Sample Learner');
  });

  test('counts an answer that does not end, or has no end, as a failure, as the service would', async () => {
    const server = createServer((request, response) => {
      response.writeHead(200, { 'content-length': '1000000' });
      if (request.url === '/cut') response.write('a', () => request.socket.destroy());
      else response.end(Buffer.alloc(1_000_000));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    after(() => {
      server.close();
    });
    const trigger = (path: string) =>
      run(
        'listen',
        '--forward-to',
        `http://127.0.0.1:${(server.address() as AddressInfo).port}/${path}`,
        '--trigger',
        'learner.groups.updated',
        '--json',
      );
    const [cut, large] = await Promise.all([trigger('cut'), trigger('large')]);
    assert.deepEqual([cut.code, cut.json.failed, large.code, large.json.failed], [1, 1, 1, 1]);
    assert.match(large.json.results[0].error, /more than 262144 bytes/);
  });

  test('stops listening at once, whatever the receiver does', { timeout: 60_000 }, async () => {
    const server = createServer(() => {}).listen(0, '127.0.0.1');
    await once(server, 'listening');
    after(() => {
      server.closeAllConnections();
      server.close();
    });
    const stop = new AbortController();
    const command = listenCommands[0]!;
    const listening = command.run({
      options: {
        forwardTo: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
        trigger: 'learner.groups.updated',
      },
      positionals: [],
      json: true,
      progress: () => {},
      step: () => {},
      signal: stop.signal,
    });
    await once(server, 'request');
    stop.abort();
    const { json } = (await listening) as { json: { results: { error: string }[] } };
    assert.deepEqual(
      json.results.map((result) => result.error),
      ['broken off'],
    );
  });

  test('checks that a receiver refuses what it must', async () => {
    const secret = 'whsec_chosen_by_the_developer';
    const careful = createServer(async (request, response) => {
      const body = await text(request);
      try {
        verify({
          secret,
          header: String(request.headers['x-svc-signature-256'] ?? ''),
          body,
          nowMs: performance.timeOrigin + performance.now(),
        });
        response.writeHead(204).end();
      } catch {
        response.writeHead(400).end();
      }
    }).listen(0, '127.0.0.1');
    const careless = createServer((_request, response) => {
      response.writeHead(204).end();
    }).listen(0, '127.0.0.1');
    await Promise.all([once(careful, 'listening'), once(careless, 'listening')]);
    after(() => {
      careful.close();
      careless.close();
    });
    const check = (server: typeof careful) =>
      run(
        'listen',
        '--forward-to',
        `http://localhost:${(server.address() as AddressInfo).port}/`,
        '--secret',
        secret,
        '--check',
        '--trigger',
        'learner.groups.updated',
        '--json',
      );
    const [good, bad] = await Promise.all([check(careful), check(careless)]);
    assert.deepEqual(
      [
        good.code,
        good.json.checks.length,
        good.json.checks.every((one: { refused: boolean }) => one.refused),
        good.json.forwarded,
      ],
      [0, 5, true, 1],
    );
    assert.deepEqual([bad.code, bad.json.checks.some((one: { refused: boolean }) => one.refused)], [1, false]);
  });
});

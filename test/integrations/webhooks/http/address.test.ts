import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { systemClock } from '../../../../src/platform/time/clock.ts';
import { checkAddress, checkUrl, parseNetworks } from '../../../../src/platform/validation/networks.ts';
import { createSender } from '../../../../src/integrations/webhooks/http/send.ts';
import hostile from './hostile-addresses.json' with { type: 'json' };
import { startReceiver, trustTestAuthority, type Receiver } from '../receiver.ts';

trustTestAuthority();

const rows: { host: string; address?: string; why: string }[] = hostile;
const closed = { allowNetworks: [] };
const reasonOf = (url: string, networks = ''): string | null => {
  const verdict = checkUrl(url, { allowNetworks: parseNetworks(networks) });
  return verdict.ok ? null : verdict.reason;
};

const publicHosts = [
  'example.com',
  'hooks.example.co.uk',
  'xn--mnchen-3ya.example',
  'bücher.example',
  'a-b.example',
  '_x.example',
  'localhost.example.com',
  'internal.example.com',
  '8.8.8.8',
  '1.1.1.1',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '126.255.255.255',
  '128.0.0.0',
  '168.63.129.15',
  '168.63.129.17',
  '169.253.255.255',
  '169.255.0.0',
  '172.15.255.255',
  '172.32.0.0',
  '192.0.1.0',
  '192.167.255.255',
  '192.169.0.0',
  '198.17.255.255',
  '198.20.0.0',
  '223.255.255.255',
  '[2606:4700:4700::1111]',
  '[2001:4860:4860::8888]',
  '[2a00:1450:4001:80b::200e]',
  '[2003::1]',
  '[3ffe::1]',
  '[64:ff9b::8.8.8.8]',
  '[::ffff:8.8.8.8]',
  '[2600::5eff:10.0.0.1]',
];

suite('the table of hostile addresses', () => {
  test('has at least 150 rows, each only once', () => {
    assert.ok(rows.length >= 150);
    assert.equal(new Set(rows.map(({ host }) => host)).size, rows.length);
  });

  test('is refused at registration, with and without a port, a path and capitals', () => {
    for (const { host, why } of rows) {
      for (const url of [`https://${host}/`, `https://${host}:8443/hook?a=b`, `HTTPS://${host}`])
        assert.notEqual(reasonOf(url), null, `${url}: ${why}`);
    }
  });

  test('says what each address is: the parsed host is the address that the row names', () => {
    for (const { host, address } of rows) {
      if (address === undefined) continue;
      const written = new URL(address.includes(':') ? `https://[${address}]/` : `https://${address}/`);
      assert.equal(new URL(`https://${host}/`).hostname, written.hostname, host);
    }
  });

  test('is refused as an answer of a name server', () => {
    for (const { address, why } of rows) {
      if (address !== undefined) assert.equal(checkAddress(address, []).ok, false, `${address}: ${why}`);
    }
  });

  test('leaves public hosts beside it open', () => {
    for (const host of publicHosts) assert.equal(reasonOf(`https://${host}/hook`), null, host);
  });
});

suite('the table of hostile addresses at delivery', () => {
  let receiver: Receiver;
  before(async () => {
    receiver = await startReceiver({ host: '127.0.0.1' });
  });
  after(() => receiver.close());

  test('is refused as a URL that was stored before the rules', async () => {
    const sender = createSender({ clock: systemClock });
    for (const { host } of rows) {
      const attempt = await sender.send({ url: `https://${host}:${receiver.port}/`, headers: {}, body: '{}' });
      assert.equal(attempt.outcome, 'address_refused', host);
    }
    await sender.close();
    assert.equal(receiver.connections(), 0);
  });

  test('is refused when a public name resolves to it, alone or among public addresses', async () => {
    for (const { address, why } of rows) {
      if (address === undefined) continue;
      // No name server can answer in every one of these spellings, so the answer is injected here; send.test.ts asks a real one.
      const sender = createSender({
        clock: systemClock,
        resolve: async (name) => (name.startsWith('alone') ? [address] : ['93.184.215.14', address]),
      });
      for (const name of ['alone', 'among']) {
        const attempt = await sender.send({
          url: `https://${name}.example.com:${receiver.port}/`,
          headers: {},
          body: '{}',
        });
        assert.equal(attempt.outcome, 'address_refused', `${address}: ${why}`);
      }
      await sender.close();
    }
    assert.equal(receiver.connections(), 0);
  });
});

suite('a URL', () => {
  for (const [url, reason] of [
    ['http://example.com/', /https/],
    ['ftp://example.com/', /https/],
    ['//example.com/', /https/],
    ['example.com', /https/],
    ['', /https/],
    ['https:/example.com', /https/],
    ['https:example.com', /https/],
    ['https:///example.com', /https/],
    ['javascript:alert(1)', /https/],
    ['https:\\\\example.com', /backslash/],
    ['https://example.com\\@10.0.0.1/', /backslash/],
    ['https://exa\tmple.com/', /control/],
    ['https://example.com/\n', /control/],
    [' https://example.com/', /space/],
    ['https://example.com/a b', /space/],
    ['https://example.com/\u0000', /control/],
    ['https://user@example.com/', /credentials/],
    ['https://user:pass@example.com/', /credentials/],
    ['https://:pass@example.com/', /credentials/],
    ['https://example.com@10.0.0.1/', /credentials/],
    ['https://example.com/#', /fragment/],
    ['https://example.com/#a', /fragment/],
    ['https://example.com:0/', /port/],
    ['https://example.com:22/', /port/],
    ['https://example.com:25/', /port/],
    ['https://example.com:6667/', /port/],
    ['https://example.com:65536/', /read/],
    ['https://[::1/', /read/],
    ['https://[::1]/', /not public/],
    ['https://[::]/', /not public/],
    ['https://[fe80::1%25eth0]/', /read/],
    ['https://256.256.256.256/', /read/],
    ['https://a..b/', /valid name/],
    ['https://1.2.3.4.5/', /read/],
    [`https://${'a'.repeat(64)}.example/`, /valid name/],
    [`https://example.com/${'a'.repeat(2048)}`, /2048/],
  ] as const) {
    test(`is refused: ${JSON.stringify(url.slice(0, 50))}`, () => assert.match(reasonOf(url) ?? 'accepted', reason));
  }

  test('may have a port, a path and a query', () => {
    for (const url of [
      'https://example.com',
      'https://example.com:443/',
      'https://example.com:8443/a/b?c=d',
      'HTTPS://EXAMPLE.com/',
    ])
      assert.equal(reasonOf(url), null, url);
  });

  test('never makes the check throw, whatever it is', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: 'binary' }),
          fc.webUrl(),
          fc.string({ unit: 'binary' }).map((text) => `https://${text}`),
        ),
        (url) => {
          checkUrl(url, closed);
        },
      ),
    );
  });

  test('of any IPv4 address is judged like that address, in all four spellings', () => {
    fc.assert(
      fc.property(fc.nat({ max: 0xffffffff }), (number) => {
        const dotted = new ipaddr.IPv4([
          number >>> 24,
          (number >>> 16) & 255,
          (number >>> 8) & 255,
          number & 255,
        ]).toString();
        const expected = checkAddress(dotted, []).ok;
        for (const host of [
          dotted,
          String(number),
          `0x${number.toString(16)}`,
          `0${number.toString(8)}`,
          `[::ffff:${dotted}]`,
          `[64:ff9b::${dotted}]`,
        ]) {
          assert.equal(checkUrl(`https://${host}/`, closed).ok, expected, host);
        }
      }),
    );
  });
});

suite('networks opened by setting', () => {
  test('open their addresses, in mapped form too, and nothing beside them', () => {
    const networks = parseNetworks('10.1.0.0/16, fd12::/16');
    for (const ip of ['10.1.0.0', '10.1.255.255', '::ffff:10.1.2.3', '64:ff9b::10.1.2.3', 'fd12:1::1'])
      assert.equal(checkAddress(ip, networks).ok, true, ip);
    for (const ip of [
      '10.0.255.255',
      '10.2.0.0',
      '192.168.0.1',
      'fd13::1',
      '::ffff:10.2.0.0',
      '::10.1.2.3',
      '2002:a01:203::1',
    ])
      assert.equal(checkAddress(ip, networks).ok, false, ip);
  });

  test('never open a metadata service', () => {
    const everything = parseNetworks('0.0.0.0/0, ::/0');
    for (const { address, why } of rows) {
      if (address !== undefined && why.startsWith('metadata'))
        assert.equal(checkAddress(address, everything).ok, false, address);
    }
    for (const ip of [
      '::ffff:169.254.169.254',
      '64:ff9b::a9fe:a9fe',
      '64:ff9b:1::a9fe:a9fe',
      '2002:a9fe:a9fe::1',
      '::169.254.169.254',
      '2600::5efe:a9fe:a9fe',
      '2001:0:4136:e378:8000:63bf:5601:5601',
    ]) {
      assert.equal(checkAddress(ip, everything).ok, false, ip);
    }
    assert.equal(checkAddress('169.254.169.253', everything).ok, true);
  });

  test('open localhost only if they hold a loopback address', () => {
    assert.equal(reasonOf('https://localhost:8443/', '127.0.0.0/8'), null);
    assert.equal(reasonOf('https://a.localhost:8443/', '::1'), null);
    assert.notEqual(reasonOf('https://localhost:8443/', '10.0.0.0/8'), null);
  });

  test('open private names, whose addresses are judged when connecting', () => {
    for (const host of ['receiver.internal', 'receiver', 'printer.local'])
      assert.equal(reasonOf(`https://${host}/`, '10.0.0.0/8'), null, host);
  });

  test('do not loosen https, credentials, fragments or ports', () => {
    for (const url of ['http://10.0.0.1/', 'https://a@10.0.0.1/', 'https://10.0.0.1/#', 'https://10.0.0.1:22/'])
      assert.notEqual(reasonOf(url, '10.0.0.0/8'), null, url);
  });

  test('are read from a list; nothing opens nothing', () => {
    assert.equal(parseNetworks('').length, 0);
    assert.equal(parseNetworks(' 10.0.0.0/8 ,192.168.1.1, fd00::/8 ').length, 3);
  });

  for (const [text, message] of [
    ['10.0.0.0/33', /not a network/],
    ['10/8', /not a network/],
    ['fd00::/129', /not a network/],
    ['localhost', /not a network/],
    ['10.0.0.0/', /not a network/],
    ['10.0.0.0/8/8', /not a network/],
    ['fe80::1%eth0', /not a network/],
    ['10.0.0.1/8', /10\.0\.0\.0\/8/],
    ['fd00::1/8', /fd00::\/8/],
    ['::ffff:10.0.0.0/104', /as IPv4/],
  ] as const) {
    test(`are refused: ${text}`, () => assert.throws(() => parseNetworks(text), message));
  }
});

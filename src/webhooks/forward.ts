import { Agent, request } from 'undici';
import type { Clock } from '../clock.ts';
import { isLocalhost } from './address.ts';
import { SignatureError, deliveryHeaders, signatureHeader, toleranceSeconds, verify } from './signing.ts';

/**
 * Forwarding to a developer's own machine. Unlike the sender of deliveries it takes plain http and private addresses,
 * because a person at the command line names the one address; http only on this machine, because events hold personal data.
 */

export type Forwarded = { deliveryId: string; statusCode: number | null; durationMs: number; error: string | null };

export type Forwarder = {
  /** Signs, verifies its own signature as a receiver would, and posts. */
  forward(deliveryId: string, body: string): Promise<Forwarded>;
  /** Posts deliveries that a receiver must refuse; answers, for each, whether it did (with any 4xx). */
  probe(
    body: string,
    deliveryId: () => string,
  ): Promise<{ probe: string; refused: boolean; statusCode: number | null; error: string | null }[]>;
  close(): Promise<void>;
};

// As for deliveries, so that what succeeds here succeeds there.
const timeoutMs = 15_000;
const maxResponseBytes = 262_144;

/** @throws RangeError that says what an address to forward to must be */
export function parseForwardTo(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (
    url === null ||
    (url.protocol !== 'http:' && url.protocol !== 'https:') ||
    url.username !== '' ||
    url.password !== '' ||
    url.hash !== ''
  ) {
    throw new RangeError('must be an http or https address, such as http://localhost:3000/webhooks');
  }
  const here = isLocalhost(url.hostname) || /^127(\.\d+){3}$|^\[::1\]$/.test(url.hostname);
  if (url.protocol === 'http:' && !here)
    throw new RangeError(
      'must be https unless it is on this machine (localhost, 127.0.0.1 or [::1]), because events hold personal data',
    );
  return url;
}

/** @param signal breaks off what is under way */
export function createForwarder(url: URL, secret: string, clock: Clock, signal: AbortSignal): Forwarder {
  const agent = new Agent({ allowH2: false });

  async function post(deliveryId: string, headers: Record<string, string>, body: string): Promise<Forwarded> {
    const startMs = clock.monotonicMs();
    const ended = (statusCode: number | null, error: string | null): Forwarded => ({
      deliveryId,
      statusCode,
      durationMs: Math.round(clock.monotonicMs() - startMs),
      error,
    });
    try {
      const reply = await request(url, {
        method: 'POST',
        headers,
        body,
        dispatcher: agent,
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      });
      let bytes = 0;
      for await (const chunk of reply.body) {
        bytes += (chunk as Buffer).length;
        if (bytes > maxResponseBytes)
          return ended(reply.statusCode, `answered ${reply.statusCode} with more than ${maxResponseBytes} bytes`);
      }
      const succeeded = reply.statusCode >= 200 && reply.statusCode < 300;
      return ended(reply.statusCode, succeeded ? null : `answered ${reply.statusCode}`);
    } catch (error) {
      const { code, name } = error as { code?: string; name?: string };
      if (signal.aborted) return ended(null, 'broken off');
      return ended(
        null,
        name === 'TimeoutError'
          ? `no answer within ${timeoutMs / 1000} s`
          : `no connection (${code ?? name ?? 'unknown'})`,
      );
    }
  }

  return {
    async forward(deliveryId, body) {
      const nowMs = clock.nowMs();
      const headers = deliveryHeaders({ deliveryId, secrets: [secret], body, nowMs });
      try {
        verify({ secret, header: headers[signatureHeader], body, nowMs: clock.nowMs() });
      } catch (error) {
        if (!(error instanceof SignatureError)) throw error;
        return {
          deliveryId,
          statusCode: null,
          durationMs: 0,
          error: `not sent: its own signature does not verify (${error.code})`,
        };
      }
      return post(deliveryId, headers, body);
    },
    async probe(body, deliveryId) {
      const nowMs = clock.nowMs();
      const away = (toleranceSeconds + 60) * 1000;
      const variants: [string, Record<string, string>, string][] = [];
      const add = (name: string, given: { secret: string; nowMs: number }, sent = body) => {
        variants.push([
          name,
          deliveryHeaders({ deliveryId: deliveryId(), secrets: [given.secret], body, nowMs: given.nowMs }),
          sent,
        ]);
      };
      add('signed with another secret', { secret: `${secret}x`, nowMs });
      add('body changed after signing', { secret, nowMs }, body.replace(/^\{/, '{ '));
      add('signed six minutes ago', { secret, nowMs: nowMs - away });
      add('signed six minutes ahead', { secret, nowMs: nowMs + away });
      const { [signatureHeader]: _, ...unsigned } = deliveryHeaders({
        deliveryId: deliveryId(),
        secrets: [secret],
        body,
        nowMs,
      });
      variants.push(['without the signature header', unsigned, body]);
      const answers = [];
      for (const [probe, headers, sent] of variants) {
        const { statusCode, error } = await post(headers['X-Svc-Delivery-Id']!, headers, sent);
        answers.push({
          probe,
          refused: statusCode !== null && statusCode >= 400 && statusCode < 500,
          statusCode,
          error,
        });
      }
      return answers;
    },
    close: () => agent.close(),
  };
}

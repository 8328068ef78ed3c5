import { Agent, request } from 'undici';
import type { Clock } from '../../platform/time/clock.ts';
import { limits } from '../../platform/config/limits.ts';
import { isLocalhost } from '../../platform/validation/networks.ts';
import {
  deliveryHeaders,
  deliveryIdHeader,
  signatureHeader,
  toleranceSeconds,
} from '../../integrations/webhooks/http/signing.ts';

/**
 * Forwards events to a developer's machine. A person enters the URL, so private addresses are allowed. Plain HTTP is
 * allowed only to the local machine, because events contain personal data.
 */

export type Forwarded = { deliveryId: string; statusCode: number | null; durationMs: number; error: string | null };

export type Forwarder = {
  forward(secret: string, deliveryId: string, body: string): Promise<Forwarded>;
  /** Posts an event that is already signed. */
  post(deliveryId: string, headers: Record<string, string>, body: string): Promise<Forwarded>;
  /** Posts deliveries that a receiver must refuse. `refused`: the receiver answered with a 4xx status. */
  probe(
    secret: string,
    body: string,
    deliveryId: () => string,
  ): Promise<{ probe: string; refused: boolean; statusCode: number | null; error: string | null }[]>;
  close(): Promise<void>;
};

const { webhookAnswerMs: timeoutMs, webhookAnswerBytes: maxResponseBytes } = limits;

/** @throws RangeError with the reason why the URL is not accepted */
export function parseForwardTo(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (
    url === null ||
    (url.protocol !== 'http:' && url.protocol !== 'https:') ||
    url.username !== '' ||
    url.password !== '' ||
    url.hash !== ''
  ) {
    throw new RangeError('must be an http or https URL, such as http://localhost:3000/webhooks');
  }
  const here = isLocalhost(url.hostname) || /^127(\.\d+){3}$|^\[::1\]$/.test(url.hostname);
  if (url.protocol === 'http:' && !here)
    throw new RangeError(
      'must be https unless it is on this machine (localhost, 127.0.0.1 or [::1]), because events hold personal data',
    );
  return url;
}

function createPost(url: URL, agent: Agent, clock: Clock, signal: AbortSignal): Forwarder['post'] {
  return async (deliveryId, headers, body) => {
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
      return ended(null, signal.aborted ? 'broken off' : withoutAnswer(error as { code?: string; name?: string }));
    }
  };
}

function withoutAnswer({ code, name }: { code?: string; name?: string }): string {
  return name === 'TimeoutError'
    ? `no answer within ${timeoutMs / 1000} s`
    : `no connection (${code ?? name ?? 'unknown'})`;
}

type Probe = { probe: string; headers: Record<string, string>; body: string };

function probesOf(secret: string, body: string, nowMs: number, deliveryId: () => string): Probe[] {
  const awayMs = (toleranceSeconds + 60) * 1000;
  const signed = (by: { secret: string; nowMs: number }) =>
    deliveryHeaders({ deliveryId: deliveryId(), secrets: [by.secret], body, nowMs: by.nowMs });
  const now = { secret, nowMs };
  const probes = [
    { probe: 'signed with another secret', headers: signed({ secret: `${secret}x`, nowMs }), body },
    { probe: 'body changed after signing', headers: signed(now), body: body.replace(/^\{/, '{ ') },
    { probe: 'signed six minutes ago', headers: signed({ secret, nowMs: nowMs - awayMs }), body },
    { probe: 'signed six minutes ahead', headers: signed({ secret, nowMs: nowMs + awayMs }), body },
  ];
  const { [signatureHeader]: _, ...unsigned } = signed(now);
  return [...probes, { probe: 'without the signature header', headers: unsigned, body }];
}

export function createForwarder(url: URL, clock: Clock, signal: AbortSignal): Forwarder {
  const agent = new Agent({ allowH2: false });
  const post = createPost(url, agent, clock, signal);
  return {
    post: post,
    forward: (secret, deliveryId, body) =>
      post(deliveryId, deliveryHeaders({ deliveryId, secrets: [secret], body, nowMs: clock.nowMs() }), body),
    async probe(secret, body, deliveryId) {
      const answers = [];
      for (const { probe, headers, body: sent } of probesOf(secret, body, clock.nowMs(), deliveryId)) {
        const { statusCode, error } = await post(headers[deliveryIdHeader]!, headers, sent);
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

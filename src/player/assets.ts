import type { FastifyInstance } from 'fastify';
import { registerAssets, scriptAsset, styleAsset } from '../look/assets.ts';

const file = (name: string) => new URL(name, import.meta.url);

export const assets = {
  style: styleAsset('player', file('style.css')),
  player: scriptAsset('player', file('player.js')),
  readAloud: scriptAsset('player', file('read-aloud.js')),
};

export function registerPlayerAssets(fastify: FastifyInstance): void {
  registerAssets(fastify, Object.values(assets));
}

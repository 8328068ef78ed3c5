import { scriptAsset, styleAsset } from '../../platform/html/assets.ts';

const file = (name: string) => new URL(name, import.meta.url);

export const assets = {
  style: styleAsset('player', file('style.css')),
  player: scriptAsset('player', file('player.js')),
  readAloud: scriptAsset('player', file('read-aloud.js')),
};

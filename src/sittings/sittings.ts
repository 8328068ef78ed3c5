/** What other nouns may ask of sittings. */
export {
  correctSupervision,
  countOpenSittings,
  emptyAnswersBefore,
  emptySittingOfResult,
  emptySittingsOfLearners,
  findBegun,
  findSitting,
  hasOpenSitting,
  moveSitting,
  voidSittingsOfInvitation,
  voidSittingsOfLearner,
} from './store.ts';
export { lockOpenSittings, passSittings } from './passing.ts';

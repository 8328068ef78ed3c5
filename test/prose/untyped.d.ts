declare module 'textlint-rule-terminology' {
  const rule: import('@textlint/kernel').TextlintRuleModule;
  export default rule;
}

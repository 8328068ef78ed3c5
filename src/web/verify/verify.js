// This script computes the hash, so the file is never sent. A file can also be dropped anywhere on the page.
(function(){
var choose=document.getElementById('choose'),input=document.getElementById('file'),state=document.getElementById('state');
if(!window.crypto||!crypto.subtle||!window.File||!File.prototype.arrayBuffer){
state.textContent='This browser can\u2019t compute the hash here'+(window.isSecureContext===false?', because this page wasn\u2019t opened over https':'')+'. Compute it as described below, and enter it.';return}
choose.hidden=false;
function check(files){
if(!files||!files.length)return;
if(files.length>1){state.textContent='Choose one file at a time.';return}
if(files[0].size>1e8){state.textContent='This file is larger than any evidence file.';return}
state.textContent='Computing the hash on this device\u2026';
files[0].arrayBuffer().then(function(bytes){return crypto.subtle.digest('SHA-256',bytes)}).then(function(hash){
location.href='/verify?sha256='+Array.prototype.map.call(new Uint8Array(hash),function(byte){return('0'+byte.toString(16)).slice(-2)}).join('')
}).catch(function(){state.textContent='The file could not be read. Choose it again.'})}
input.onchange=function(){check(input.files)};
function over(on){return function(event){event.preventDefault();document.body.className=on?'over':''}}
document.ondragover=over(true);document.ondragleave=over(false);
document.ondrop=function(event){over(false)(event);check(event.dataTransfer.files)};
window.onpageshow=function(event){if(event.persisted){state.textContent='';input.value=''}}
})()
